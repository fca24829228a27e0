import { rmSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { sqlite } from '#store/dialect.ts'
import { openSqlite } from '#store/sqlite.ts'
import { statements } from '#store/statements.ts'

/** As many as the delivery reads, and writes its position for, at a time. */
const PAGE = 1000
const POSITION = 'position'
const KIND = 'event_cursor'

/** Events in a database like that of the server, with the position of their reader, and as durable. */
export class StoredEvents implements Disposable {
  readonly #database: DatabaseSync
  readonly #read: StatementSync
  readonly #write: StatementSync
  #version = 1

  private constructor(database: DatabaseSync) {
    const prepare = (text: string): StatementSync => database.prepare(text.replaceAll('$', '?'))
    this.#database = database
    this.#read = prepare(statements(sqlite).events)
    this.#read.setReturnArrays(true)
    this.#write = prepare(statements(sqlite).updateRow)
  }

  static async create(file: string, bodies: readonly string[]): Promise<StoredEvents> {
    for (const end of ['', '-wal', '-shm', '.lock']) rmSync(file + end, { force: true })
    // Creates the tables.
    await (await openSqlite(file))[Symbol.asyncDispose]()
    const database = new DatabaseSync(file)
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384')
    const sql = statements(sqlite)
    const prepare = (text: string): StatementSync => database.prepare(text.replaceAll('$', '?'))
    database.exec('BEGIN')
    const insert = prepare(sql.insertEvent)
    for (const [at, body] of bodies.entries()) {
      const {
        event_id: id,
        event_type: type,
        event_timestamp: moment,
      } = JSON.parse(body) as Record<string, string>
      insert.run(at + 1, id ?? '', type ?? '', moment ?? '', body)
    }
    prepare(sql.insertRow).run(POSITION, KIND, null, 1, '{}')
    database.exec('COMMIT')
    return new StoredEvents(database)
  }

  /** The bodies in pages; the position is behind a page before the next one is read. */
  *pages(): Generator<readonly string[]> {
    for (let after = 0; ;) {
      const page = this.#read.all(after, PAGE) as unknown as readonly (readonly unknown[])[]
      if (page.length === 0) return
      yield page.map(([, , , , body]) => String(body))
      after = Number(page.at(-1)?.[0])
      this.#writePosition(after)
    }
  }

  #writePosition(sequence: number): void {
    this.#version++
    this.#write.run(POSITION, KIND, null, this.#version, JSON.stringify({ sequence }))
  }

  [Symbol.dispose](): void {
    this.#database.close()
  }
}
