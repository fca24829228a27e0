import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite } from 'node:test'
import { openPostgres } from '#store/postgres.ts'
import { openSqlite } from '#store/sqlite.ts'
import type { Store } from '#store/store.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'

export interface Driver {
  readonly name: 'sqlite' | 'postgres'
  /** Makes an empty database; the function it resolves to opens that one, again and again. */
  readonly newDatabase: () => Promise<() => Promise<Store>>
}

export interface TestFolder {
  readonly path: string
  remove(): Promise<void>
}

export async function newFolder(): Promise<TestFolder> {
  const path = await mkdtemp(join(tmpdir(), 'adit-store-'))
  return { path, remove: () => rm(path, { recursive: true, force: true }) }
}

/** Declares the same tests for every driver. */
export function forEachDriver(subject: string, declare: (driver: Driver) => void): void {
  suite(`sqlite ${subject}`, () => {
    const folders: TestFolder[] = []
    after(() => Promise.all(folders.map(folder => folder.remove())))

    const newDatabase = async () => {
      const folder = await newFolder()
      folders.push(folder)
      return () => openSqlite(join(folder.path, 'adit.db'))
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
