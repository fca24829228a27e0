const last = new Map<string, Promise<unknown>>()

/**
 * Serializes changes of one resource within this process, so that many callers do not run out of attempts. Between
 * processes the store's versions decide.
 */
export async function inTurn<Result>(id: string, run: () => Promise<Result>): Promise<Result> {
  const before = last.get(id) ?? Promise.resolve()
  const mine = before.then(run, run)
  last.set(id, mine)
  try {
    return await mine
  } finally {
    if (last.get(id) === mine) last.delete(id)
  }
}
