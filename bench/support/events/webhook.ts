import type { ChildProcess } from 'node:child_process'
import { ask, program } from '../programs.ts'
import type { WebhookFigures, WebhookJob, WebhookKept } from '../webhook-program.ts'

/** An event receiver in a separate process. */
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

  /** As a destination target, with so many events per POST. */
  target(batch_size: number): object {
    return {
      webhook: { url: `http://127.0.0.1:${this.port}/`, secret: 'a secret of the benchmark', batch_size },
    }
  }

  ask<Answer extends object = object>(job: WebhookJob): Promise<Answer> {
    return ask<Answer>(this.#child, job)
  }

  /** How long receiving so many took, from the first on. */
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
