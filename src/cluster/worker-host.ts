/** What to fork for a worker. */
export interface WorkerProgram {
  readonly path: string
  readonly args: readonly string[]
}

export interface WorkerListener {
  /** A message to the first process. */
  message(node: string, body: Uint8Array): void
  exited(node: string, code: number | null): void
}

/** The parent of the workers: the first process itself, or the supervisor, which outlives it. */
export interface WorkerHost extends Disposable {
  /** For the sockets between the processes; only this user can open it. */
  readonly folder: string
  /** Begins to report to the first process. Resolves to the workers that an earlier first process has left. */
  attach(listener: WorkerListener): Promise<readonly string[]>
  start(node: string, program: WorkerProgram): void
  send(node: string, body: Uint8Array): void
  /** Lets a drained worker exit. */
  end(node: string): void
  kill(node: string): void
}

/** From the host to a worker. The epoch counts the first processes, whose messages must not be mixed up. */
export type HostMessage =
  | { readonly is: 'attached'; readonly epoch: number }
  | { readonly is: 'lost' }
  | { readonly is: 'message'; readonly epoch: number; readonly body: Uint8Array }
  | { readonly is: 'drain'; readonly deadlineMs: number }

/** From a worker to the first process, through the host. */
export interface WorkerMessage {
  readonly epoch: number
  readonly body: Uint8Array
}
