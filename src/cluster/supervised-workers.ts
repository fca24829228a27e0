import type { WorkerHost, WorkerListener, WorkerProgram } from '#cluster/worker-host.ts'

/** From the first process to its supervisor. */
export type SupervisorRequest =
  | { readonly is: 'attach' }
  | { readonly is: 'start'; readonly node: string; readonly program: WorkerProgram }
  | { readonly is: 'send'; readonly node: string; readonly body: Uint8Array }
  | { readonly is: 'end' | 'kill'; readonly node: string }

/** From the supervisor to the first process. */
export type SupervisorReport =
  | { readonly is: 'attached'; readonly nodes: readonly string[] }
  | { readonly is: 'message'; readonly node: string; readonly body: Uint8Array }
  | { readonly is: 'exited'; readonly node: string; readonly code: number | null }

/** The workers for a first process with a supervisor, which is their parent. */
export class SupervisedWorkers implements WorkerHost {
  readonly folder: string

  constructor(folder: string) {
    this.folder = folder
  }

  attach(listener: WorkerListener): Promise<readonly string[]> {
    const { promise, resolve } = Promise.withResolvers<readonly string[]>()
    process.on('message', (report: SupervisorReport | string) => {
      // An order about this process itself.
      if (typeof report === 'string') return
      if (report.is === 'message') listener.message(report.node, report.body)
      else if (report.is === 'exited') listener.exited(report.node, report.code)
      else resolve(report.nodes)
    })
    request({ is: 'attach' })
    return promise
  }

  start(node: string, program: WorkerProgram): void {
    request({ is: 'start', node, program })
  }

  send(node: string, body: Uint8Array): void {
    request({ is: 'send', node, body })
  }

  end(node: string): void {
    request({ is: 'end', node })
  }

  kill(node: string): void {
    request({ is: 'kill', node })
  }

  /** The folder is the supervisor's. */
  [Symbol.dispose](): void {}
}

function request(message: SupervisorRequest): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined)
}
