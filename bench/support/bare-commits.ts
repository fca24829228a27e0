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

const valuesOf = (group: readonly BareRow[]) => group.map(({ id, body }) => [id, 'ip_policy', null, 1, body])

function eventsOf(group: readonly BareRow[]) {
  const at = timestamp(Date.now())
  return group.map(({ body }) => [newId('ev'), 'bench', at, body] as const)
}

export async function postgresCommits(url: string): Promise<CommitGroup> {
  // Creates the tables.
  await (await openPostgres(url))[Symbol.asyncDispose]()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const text = statements(postgres).inBulk?.insertGroup ?? ''
  return async group => {
    const lists = [valuesOf(group), eventsOf(group)].map(list => JSON.stringify(list))
    await client.query({ name: 'bare', text, values: [...lists, group.length, group.length] })
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
    const counter = lock.get()
    const [revision, sequence] = [Number(counter?.revision), Number(counter?.sequence)]
    const changes = group.map(({ id }, index) => [revision + index + 1, 'ip_policy', id, 'insert'])
    const events = eventsOf(group).map((event, index) => [sequence + index + 1, ...event])
    for (const [index, lines] of [valuesOf(group), changes, events].entries())
      for (const values of lines) writes[index]?.all(...(values as SQLInputValue[]))
    writeCounter.run(revision + group.length, sequence + group.length)
    commit.run()
  }
}
