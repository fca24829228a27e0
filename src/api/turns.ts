const last = new Map<string, Promise<unknown>>()

/**
 * Runs changes of one resource one after another within this process, so that callers who are merely many do
 * not run out of attempts. Between processes the store's versions decide.
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
