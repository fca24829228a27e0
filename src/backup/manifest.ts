import type { ArchivedFile } from '#backup/archive.ts'
import { damaged } from '#backup/tar-header.ts'

export const MANIFEST = 'backup.json'
export const DATABASE = 'adit.db'

/** The files of an installation. Lock and journal of the database belong to the running process. */
export const keptFiles: readonly string[] = ['master.key', 'ca.pem', 'api-key', 'authtoken']

/** The last file of a backup: without it the backup is incomplete. */
export interface Manifest {
  readonly format: 1
  /** Of the program that made it. */
  readonly version: string
  readonly created_at: string
  readonly database: 'sqlite' | 'postgresql'
  readonly files: readonly ArchivedFile[]
}

export function readManifest(text: string): Manifest {
  try {
    const manifest = JSON.parse(text) as Manifest
    return manifest.format === 1 && Array.isArray(manifest.files) ? manifest : damaged()
  } catch {
    return damaged()
  }
}
