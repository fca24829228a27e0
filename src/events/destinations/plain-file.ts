import { constants, type Stats } from 'node:fs'
import { lstat, open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { unusable } from '#events/destinations/failures.ts'

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants
const FLAGS = O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_RDWR
const OWNER_ALONE = 0o600
const PERMISSIONS = 0o777
const NEWLINE = 10

/** The entry at a path, without following links; undefined when there is none. */
export async function statOf(path: string): Promise<Stats | undefined> {
  return lstat(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  })
}

/** An open file of whole lines: not a link, no second hard link, private. */
export class PlainFile {
  readonly #path: string
  readonly #handle: FileHandle
  readonly #opened: Stats
  #size: number

  private constructor(path: string, handle: FileHandle, opened: Stats) {
    this.#path = path
    this.#handle = handle
    this.#opened = opened
    this.#size = opened.size
  }

  /** Opens the file, and makes it when it is not there. */
  static async open(path: string): Promise<PlainFile> {
    const handle = await open(path, FLAGS, OWNER_ALONE).catch((error: unknown) => {
      const { code = '' } = error as NodeJS.ErrnoException
      if (['ELOOP', 'EMLINK', 'EISDIR', 'ENXIO'].includes(code)) throw notPlain()
      throw error
    })
    try {
      const found = await handle.stat()
      // Another hard link may be outside of the data folder.
      if (!found.isFile() || found.nlink > 1) throw notPlain()
      await handle.chmod(OWNER_ALONE)
      await endLine(handle, found.size)
      if (found.size === 0) await syncFolder(join(path, '..'))
      return new PlainFile(path, handle, await handle.stat())
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  get size(): number {
    return this.#size
  }

  /** False when the file was moved, replaced, linked or written: then it must be checked again. */
  async isStillThere(): Promise<boolean> {
    // Opening it reports why it cannot be checked.
    const found = await lstat(this.#path).catch(() => undefined)
    return (
      found?.ino === this.#opened.ino &&
      found.dev === this.#opened.dev &&
      found.nlink === 1 &&
      found.size === this.#size &&
      (found.mode & PERMISSIONS) === OWNER_ALONE
    )
  }

  /** Resolves when the lines are on the disk; otherwise none of them stay. */
  async append(lines: Buffer): Promise<void> {
    try {
      await this.#handle.appendFile(lines)
      await this.#handle.datasync()
      this.#size += lines.length
    } catch (error) {
      // Half a line must not stay, whatever else fails.
      await this.#handle.truncate(this.#size).catch(() => undefined)
      throw error
    }
  }

  close(): Promise<void> {
    return this.#handle.close()
  }
}

const notPlain = () => unusable('The path of the file names a link or something that is not a file.')

/** If the process died while writing, the last line is incomplete: the next one must not be appended to it. */
async function endLine(handle: FileHandle, size: number): Promise<void> {
  if (size === 0) return
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1)
  if (buffer[0] !== NEWLINE) await handle.appendFile('\n')
}

/** Without this, a new file name may be lost after a power failure. */
async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r')
  await folder.sync()
}
