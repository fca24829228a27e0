import type { ChildProcess } from 'node:child_process'
import { ask, program } from '../programs.ts'
import type { WebhookFigures, WebhookJob, WebhookKept } from '../webhook-program.ts'

/** A receiver of events in a process of its own. */
export class Webhook implements Disposable {
  readonly port: number
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.port = port
  }

  static async start(): Promise<Webhook> {
    const child = program('webhook-program.ts')
    const job: WebhookJob = { work: 'listen' }
    const { port } = await ask<{ port: number }>(child, job)
    return new Webhook(child, port)
  }

  /** As the target of a destination, so many events in each POST. */
  target(batch_size: number): object {
    return {
      webhook: { url: `http://127.0.0.1:${this.port}/`, secret: 'a secret of the benchmark', batch_size },
    }
  }

  ask<Answer extends object = object>(job: WebhookJob): Promise<Answer> {
    return ask<Answer>(this.#child, job)
  }

  /** How long it took to receive so many, from the first on. */
  until(events: number): Promise<WebhookFigures> {
    return this.ask<WebhookFigures>({ work: 'until', events })
  }

  keep(file: string): Promise<WebhookKept> {
    return this.ask<WebhookKept>({ work: 'keep', file })
  }

  [Symbol.dispose](): void {
    this.#child.kill()
  }
}
