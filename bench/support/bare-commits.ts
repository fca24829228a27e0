import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import pg from 'pg'
import { newId, timestamp } from '#base/ids.ts'
import { postgres, sqlite } from '#store/dialect.ts'
import { openPostgres } from '#store/postgres.ts'
import { openSqlite } from '#store/sqlite.ts'
import { statements } from '#store/statements.ts'

export interface BareRow {
  readonly id: string
  readonly body: string
}

/** Commits a group in one transaction of Adit's store: its rows, a change and an event for each, and the counters. */
type CommitGroup = (group: readonly BareRow[]) => Promise<void>

interface Counter {
  readonly revision: unknown
  readonly sequence: unknown
}

function logOf(group: readonly BareRow[], counter: Counter | undefined) {
  const [revision, sequence] = [Number(counter?.revision), Number(counter?.sequence)]
  const at = timestamp(Date.now())
  return {
    rows: group.map(({ id, body }) => [id, 'ip_policy', null, 1, body]),
    changes: group.map(({ id }, index) => [revision + index + 1, 'ip_policy', id, 'insert']),
    events: group.map(({ body }, index) => [sequence + index + 1, newId('ev'), 'bench', at, body]),
    counter: [revision + group.length, sequence + group.length],
  }
}

export async function postgresCommits(url: string): Promise<CommitGroup> {
  // Creates the tables.
  await (await openPostgres(url))[Symbol.asyncDispose]()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const sql = statements(postgres)
  const names = new Map<string, string>()
  const run = (text: string, ...values: readonly unknown[]) => {
    const name = names.get(text) ?? `bare_${names.size}`
    names.set(text, name)
    return client.query<Counter & pg.QueryResultRow>({ name, text, values: [...values] })
  }
  return async group => {
    await run(sql.begin)
    const { rows, changes, events, counter } = logOf(group, (await run(sql.lockCounter)).rows[0])
    await run(sql.inBulk?.insertRows ?? '', JSON.stringify(rows))
    await run(sql.inBulk?.writeLog ?? '', JSON.stringify(changes), JSON.stringify(events), ...counter)
    await run(sql.commit)
  }
}

export async function sqliteCommits(file: string): Promise<CommitGroup> {
  await (await openSqlite(file))[Symbol.asyncDispose]()
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
  const sql = statements(sqlite)
  const prepare = (text: string) => database.prepare(text.replaceAll('$', '?'))
  const [begin, lock, commit] = [prepare(sql.begin), prepare(sql.lockCounter), prepare(sql.commit)]
  const writes = [sql.insertRow, sql.insertChange, sql.insertEvent].map(prepare)
  const writeCounter = prepare(sql.writeCounter)
  return async group => {
    begin.run()
    const { rows, changes, events, counter } = logOf(group, lock.get() as Counter | undefined)
    for (const [index, lines] of [rows, changes, events].entries())
      for (const values of lines) writes[index]?.all(...(values as SQLInputValue[]))
    writeCounter.run(...counter)
    commit.run()
  }
}
