import { extname, join } from 'node:path'
import { isSea } from 'node:sea'

/** Starts the single executable as a worker. */
export const WORKER_ARGUMENT = 'adit-worker'

/** What to fork for a worker: a file next to this one, in the source or in a bundle, or the executable itself. */
export const workerProgram = (): string =>
  isSea() ? WORKER_ARGUMENT : join(import.meta.dirname, `worker-program${extname(import.meta.filename)}`)
