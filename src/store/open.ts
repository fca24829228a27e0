import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { StoreObserver } from '#store/measured-engine.ts'
import { openPostgres } from '#store/postgres.ts'
import { openSqlite } from '#store/sqlite.ts'
import { StoreError } from '#store/store-error.ts'
import type { Store } from '#store/store.ts'

interface StoreOptions {
  /** Without one the store is a file in the data folder. */
  readonly databaseUrl: string | undefined
  readonly dataDir: string
  readonly observer?: StoreObserver
  /** Another process still uses it, and is about to release it. */
  readonly shared?: boolean
}

export async function openStore({
  databaseUrl,
  dataDir,
  observer,
  shared = false,
}: StoreOptions): Promise<Store> {
  if (databaseUrl === undefined) {
    await createFolder(dataDir)
    return openSqlite(join(dataDir, 'adit.db'), observer, { shared })
  }
  if (/^postgres(ql)?:/.test(databaseUrl)) return openPostgres(databaseUrl, observer)
  // Only the scheme is shown: the rest may contain a password.
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(databaseUrl)?.[0] ?? 'none'
  throw new StoreError(
    'unusable',
    `The database URL must begin with postgresql:// (its scheme is ${scheme}).`,
  )
}

async function createFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new StoreError('unusable', `The data folder ${folder} cannot be created.`, { cause: error })
  }
}
