import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { timestamp } from '#base/ids.ts'
import { isThere } from '#base/is-there.ts'
import { Sealer } from '#base/secrets.ts'
import type { Settings } from '#base/settings.ts'
import { ArchiveWriter } from '#backup/archive.ts'
import { attempt, BackupError } from '#backup/backup-error.ts'
import { DATABASE, keptFiles, MANIFEST, type Manifest } from '#backup/manifest.ts'
import { findMasterKey } from '#base/data-folder.ts'
import { checkSqlite, copySqlite } from '#store/sqlite-copy.ts'
import metadata from '../../package.json' with { type: 'json' }

interface BackedUp {
  readonly files: readonly string[]
  /** What the operator must back up by other means. */
  readonly missing: readonly string[]
}

/** Writes a snapshot of the database and its files into one file that only its owner can read. */
export function backUp(settings: Settings, target: string): BackedUp {
  const database = settings.database_url === undefined ? DATABASE : undefined
  check(settings, target, database)
  const partial = `${target}.partial`
  const copy = `${target}.database`
  try {
    if (database !== undefined) copyDatabase(settings, copy)
    const manifest = attempt(`${partial} cannot be written`, () => write(settings, partial, database && copy))
    attempt(`${target} cannot be written`, () => settle(partial, target))
    return { files: manifest.files.map(({ name }) => name), missing: missing(settings) }
  } finally {
    for (const path of [partial, copy]) rmSync(path, { force: true })
  }
}

function check({ data_dir: folder }: Settings, target: string, database: string | undefined): void {
  const needed = join(folder, database ?? '')
  if (!attempt(`${needed} (ADIT_DATA_DIR) cannot be read`, () => isThere(needed)))
    throw new BackupError(`there is nothing to back up: ${needed} (ADIT_DATA_DIR) does not exist`)
  for (const path of [target, `${target}.partial`, `${target}.database`])
    if (existsSync(path)) throw new BackupError(`${path} already exists; choose another name`)
}

function copyDatabase(settings: Settings, copy: string): void {
  const source = join(settings.data_dir, DATABASE)
  attempt('the database cannot be backed up', () => copySqlite(source, copy))
  checkCopy(settings, copy)
}

/** A backup whose secrets cannot be decrypted would be noticed too late. */
function checkCopy(settings: Settings, copy: string): void {
  const meta = attempt('the database cannot be backed up', () => checkSqlite(copy))
  const key = findMasterKey(settings)
  const expected = meta.get('master_key_id')
  if (expected === undefined) throw new BackupError('the database is not one of Adit, or was never used')
  if (key === undefined) return
  const { keyId } = new Sealer(Buffer.from(key.reveal(), 'base64'))
  if (keyId !== expected)
    throw new BackupError(`the master key (${keyId}) is not that of the database (${expected})`)
}

/** A key that is stored elsewhere is kept apart from the database, so it is not included. */
const missing = ({ database_url: url, data_dir: folder }: Settings): string[] => [
  ...(url === undefined ? [] : ['the PostgreSQL database itself is not included: use pg_dump']),
  ...(existsSync(join(folder, 'master.key'))
    ? []
    : ['the master key is not included: back it up separately, secrets cannot be decrypted without it']),
]

function write({ data_dir: folder }: Settings, path: string, copy: string | undefined): Manifest {
  const now = Date.now()
  const file = openSync(path, 'wx', 0o600)
  try {
    const archive = new ArchiveWriter(file, now)
    const kept = keptFiles.filter(name => existsSync(join(folder, name)))
    const files = [
      ...(copy === undefined ? [] : [archive.addFile(DATABASE, copy)]),
      ...kept.map(name => archive.addFile(name, join(folder, name))),
    ]
    const database = copy === undefined ? 'postgresql' : 'sqlite'
    const manifest: Manifest = {
      format: 1,
      version: metadata.version,
      created_at: timestamp(now),
      database,
      files,
    }
    archive.addText(MANIFEST, `${JSON.stringify(manifest, undefined, 2)}\n`)
    archive.finish()
    fsyncSync(file)
    return manifest
  } finally {
    closeSync(file)
  }
}

/** The name appears only when all of it is on disk. */
function settle(partial: string, target: string): void {
  renameSync(partial, target)
  const folder = openSync(dirname(target), 'r')
  fsyncSync(folder)
  closeSync(folder)
}
