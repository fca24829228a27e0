import { ExitError } from '#base/exit-error.ts'

/** Why a backup could not be written or restored. */
export class BackupError extends ExitError {
  override readonly name = 'BackupError'
  readonly exitCode = 1
}

/** Runs a file operation and turns errors into messages for people. */
export function attempt<Result>(what: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (error instanceof BackupError) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new BackupError(`${what}: ${reason}`, { cause: error })
  }
}
