/** Why a backup could not be made or put back: one line for a person. The program then ends with exit code 1. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
}

/** Does something with files and says in words for people what could not be done. */
export function attempt<Result>(what: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (error instanceof BackupError) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new BackupError(`${what}: ${reason}`, { cause: error })
  }
}
