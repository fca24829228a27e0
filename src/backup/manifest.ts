import type { Stored } from '#backup/archive.ts'
import { damaged } from '#backup/tar-header.ts'

export const MANIFEST = 'backup.json'
export const DATABASE = 'adit.db'

/** What belongs to an installation. Lock and journal of the database belong to the process that has it open. */
export const keptFiles: readonly string[] = ['master.key', 'ca.pem', 'api-key', 'authtoken']

/** The last file of a backup: a backup without it was not finished. */
export interface Manifest {
  readonly format: 1
  /** Of the program that made it. */
  readonly version: string
  readonly created_at: string
  readonly database: 'sqlite' | 'postgresql'
  readonly files: readonly Stored[]
}

export function readManifest(text: string): Manifest {
  try {
    const manifest = JSON.parse(text) as Manifest
    return manifest.format === 1 && Array.isArray(manifest.files) ? manifest : damaged()
  } catch {
    return damaged()
  }
}
