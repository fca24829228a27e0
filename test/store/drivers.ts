import { after, before, suite } from 'node:test'
import { openPostgres } from '#store/postgres.ts'
import { openSqlite } from '#store/sqlite.ts'
import type { Store } from '#store/store.ts'
import { Folder } from '../support/folder.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'

interface Driver {
  readonly name: 'sqlite' | 'postgres'
  /** Makes an empty database; the function it resolves to opens that one, again and again. */
  readonly newDatabase: () => Promise<() => Promise<Store>>
}

/** Declares the same tests for every driver. */
export function forEachDriver(subject: string, declare: (driver: Driver) => void): void {
  suite(`sqlite ${subject}`, () => {
    const folders = new DisposableStack()
    after(() => folders.dispose())

    const newDatabase = async () => {
      const folder = folders.use(new Folder())
      return () => openSqlite(folder.file('adit.db'))
    }
    declare({ name: 'sqlite', newDatabase })
  })

  suite(`postgres ${subject}`, () => {
    let server: TestPostgres
    before(async () => {
      server = await startPostgres()
    })
    after(() => server.stop())

    const newDatabase = async () => {
      const url = await server.newDatabase()
      return () => openPostgres(url)
    }
    declare({ name: 'postgres', newDatabase })
  })
}
