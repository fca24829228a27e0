import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { suite, test, type TestContext } from 'node:test'
import { startPostgres } from '../../support/postgres.ts'
import type { Process } from '../../support/server.ts'
import { Random, seedOfRun } from './random.ts'
import { check, newWriters, Victim } from './victim.ts'
import type { Writer } from './writer.ts'
import { Folder } from '../../support/folder.ts'

const isLong = process.env['TEST_LONG'] === '1'
const KILLS = isLong ? 300 : 4
const START_MS = 3000
/** A kill comes after so many acknowledged calls at most, and so many turns of the event loop later. */
const MAX_CALLS = 200
const MAX_TURNS = 30

/** Lets all writers write until the moment of the kill; returns how many calls were acknowledged. */
async function writeUntilKilled(
  server: Process,
  writers: readonly Writer[],
  random: Random,
): Promise<number> {
  const enough = Promise.withResolvers<void>()
  const [calls, turns] = [1 + random.below(MAX_CALLS), random.below(MAX_TURNS)]
  let acknowledged = 0
  const count = () => {
    acknowledged += 1
    if (acknowledged === calls) enough.resolve()
  }
  const writing = Promise.all(writers.map(writer => writer.write(server.api, count)))
  await Promise.race([enough.promise, writing])
  for (let turn = 0; turn < turns; turn++) await nextTurn()
  await server.end('SIGKILL')
  await writing
  return acknowledged
}

async function survive(
  context: TestContext,
  folder: Folder,
  environment: Record<string, string>,
): Promise<void> {
  const seed = seedOfRun()
  context.diagnostic(`TEST_SEED=${seed}`)
  const random = new Random(seed)
  const writers = newWriters(random)
  const starts: number[] = []
  let acknowledged = 0
  for (let kill = 0; kill < KILLS; kill++) {
    await using victim = await Victim.start(folder, environment)
    starts.push(victim.startMs)
    await check(victim.server, writers)
    acknowledged += await writeUntilKilled(victim.server, writers, random)
  }
  await using last = await Victim.start(folder, environment)
  await check(last.server, writers)
  assert.equal(await last.server.end('SIGTERM'), 0)

  const [median = 0, slowest = 0] = [0.5, 1].map(
    share => starts.toSorted((a, b) => a - b)[Math.ceil(KILLS * share) - 1],
  )
  const sum = (of: (writer: Writer) => number) => writers.reduce((total, writer) => total + of(writer), 0)
  context.diagnostic(`${KILLS} kills, ${acknowledged} acknowledged writes`)
  context.diagnostic(
    `of ${sum(one => one.unanswered)} without an answer ${sum(one => one.tookEffect)} took effect`,
  )
  context.diagnostic(`starts took ${Math.round(median)} ms, the slowest ${Math.round(slowest)} ms`)
  // Of one start the machine may be the cause, of most of them it is the program; a busy machine slows them all down.
  if (isLong) assert.ok(median < START_MS)
}

suite('SIGKILL during writes', () => {
  test('loses no acknowledged write and leaves no partial one on SQLite', async context => {
    using folder = new Folder()
    await survive(context, folder, {})
    using database = new DatabaseSync(join(folder.path, 'adit.db'), { readOnly: true })
    assert.deepEqual(
      database
        .prepare('PRAGMA integrity_check')
        .all()
        .map(row => ({ ...row })),
      [{ integrity_check: 'ok' }],
    )
    assert.deepEqual(database.prepare('PRAGMA foreign_key_check').all(), [])
    const counts = database.prepare(
      'SELECT revision, sequence, (SELECT count(*) FROM change) AS changes, (SELECT count(*) FROM event) AS events FROM counter',
    )
    const { revision, sequence, changes, events } = counts.get() ?? {}
    assert.deepEqual([changes, events], [revision, sequence])
  })

  // Without TEST_LONG, PostgreSQL itself is killed; see database-crash.test.ts.
  const skip = !isLong && 'the program does the same with each store'
  test('loses no acknowledged write and leaves no partial one on PostgreSQL', { skip }, async context => {
    const postgres = await startPostgres()
    context.after(() => postgres.stop())
    using folder = new Folder()
    await survive(context, folder, { ADIT_DATABASE_URL: await postgres.newDatabase() })
  })
})
