import { chmodSync, closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from '#base/settings.ts'
import { ArchiveReader, type ArchivedFile } from '#backup/archive.ts'
import { attempt, BackupError } from '#backup/backup-error.ts'
import { DATABASE, keptFiles, MANIFEST, readManifest, type Manifest } from '#backup/manifest.ts'
import { damaged } from '#backup/tar-header.ts'
import { prepareDataFolder } from '#base/data-folder.ts'
import { checkSqlite } from '#store/sqlite-copy.ts'

/** File systems create it at the top of a volume. */
const NOT_OURS = 'lost+found'
const allowed: ReadonlySet<string> = new Set([DATABASE, ...keptFiles])
/** Other users need the root that they trust. */
const modeOf = (name: string): number => (name === 'ca.pem' ? 0o644 : 0o600)

interface Restored {
  readonly manifest: Manifest
}

/** Restores a backup into an empty data folder: all of it, or nothing. */
export function restore(settings: Settings, source: string): Restored {
  const { data_dir: folder } = settings
  const file = attempt(`${source} cannot be read`, () => openSync(source, 'r'))
  try {
    prepareDataFolder(folder)
    const others = readdirSync(folder).filter(name => name !== NOT_OURS)
    if (others.length > 0)
      throw new BackupError(
        `${folder} (ADIT_DATA_DIR) is not empty: a backup can only be restored into an empty folder`,
      )
    return { manifest: unpack(new ArchiveReader(file), folder) }
  } finally {
    closeSync(file)
  }
}

function unpack(archive: ArchiveReader, folder: string): Manifest {
  const partial = (name: string): string => join(folder, `${name}.partial`)
  const stored: ArchivedFile[] = []
  try {
    const manifest = attempt(`${folder} cannot be written`, () => takeAll(archive, stored, partial))
    if (stored.some(({ name }) => name === DATABASE))
      attempt('this backup cannot be used', () => checkSqlite(partial(DATABASE)))
    // The database comes last: a server started too early must not find it without its key.
    const order = stored
      .map(({ name }) => name)
      .toSorted((a, b) => Number(a === DATABASE) - Number(b === DATABASE))
    for (const name of order)
      attempt(`${folder} cannot be written`, () => renameSync(partial(name), join(folder, name)))
    return manifest
  } catch (error) {
    for (const { name } of stored) {
      rmSync(partial(name), { force: true })
      rmSync(join(folder, name), { force: true })
    }
    throw error
  }
}

/** Extracts every file; the manifest at the end verifies them. */
function takeAll(
  archive: ArchiveReader,
  stored: ArchivedFile[],
  partial: (name: string) => string,
): Manifest {
  for (let entry = archive.next(); entry !== undefined; entry = archive.next()) {
    if (entry.name === MANIFEST) return checked(readManifest(archive.text(entry)), stored)
    if (!allowed.has(entry.name) || stored.some(({ name }) => name === entry.name)) damaged()
    const at = stored.push({ ...entry, sha256: '' }) - 1
    const target = openSync(partial(entry.name), 'wx', modeOf(entry.name))
    try {
      stored[at] = archive.copyTo(target, entry)
      fsyncSync(target)
    } finally {
      closeSync(target)
    }
    chmodSync(partial(entry.name), modeOf(entry.name))
  }
  return damaged()
}

function checked(manifest: Manifest, stored: readonly ArchivedFile[]): Manifest {
  const same =
    manifest.files.length === stored.length &&
    manifest.files.every((listed, at) => isSame(listed, stored[at]))
  return same ? manifest : damaged()
}

const isSame = (listed: ArchivedFile, found: ArchivedFile | undefined): boolean =>
  listed.name === found?.name && listed.size === found.size && listed.sha256 === found.sha256
