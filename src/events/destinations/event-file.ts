import { constants, type Stats } from 'node:fs'
import { lstat, mkdir, open, realpath, rename, type FileHandle } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { unusable } from '#events/destinations/failures.ts'

export interface EventFileOptions {
  readonly dataDir: string
  /** Below the folder of events. */
  readonly path: string
  /** A file that would get longer than this is put aside. */
  readonly maxBytes: number
  /** How many there are, the one that is written included. */
  readonly files: number
}

/** Beside the database and the keys, so that no destination can name one of those. */
export const EVENTS_FOLDER = 'events'

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants
const FLAGS = O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_RDWR
const MAX_PARTS = 16
const NEWLINE = 10

/** The parts of a path that stays inside of its folder. */
export function partsOf(path: string): string[] {
  const parts = path.split('/')
  const isPlain = (part: string): boolean =>
    part !== '' && part !== '.' && part !== '..' && part.length <= 200 && !/[\\:\0]/.test(part)
  if (isAbsolute(path) || parts.length > MAX_PARTS || !parts.every(isPlain))
    throw unusable('The path of the file is not one inside of the data folder.')
  return parts
}

/**
 * Lines that are appended to a file inside the data folder, and are on the disk when that is told. The file is opened
 * each time: somebody may have moved or removed it, and next to waiting for the disk that costs nothing.
 */
export class EventFile {
  /** Two destinations may name the same file: one writes at a time. */
  static readonly #turns = new Map<string, Promise<void>>()
  readonly #options: EventFileOptions
  readonly #parts: readonly string[]
  readonly #key: string

  constructor(options: EventFileOptions) {
    this.#options = options
    this.#parts = partsOf(options.path)
    this.#key = join(options.dataDir, ...this.#parts)
  }

  append(lines: Buffer): Promise<void> {
    const turns = EventFile.#turns
    const turn = (turns.get(this.#key) ?? Promise.resolve()).then(() => this.#append(lines))
    const over = turn
      .catch(() => undefined)
      .finally(() => {
        if (turns.get(this.#key) === over) turns.delete(this.#key)
      })
    turns.set(this.#key, over)
    return turn
  }

  async #append(lines: Buffer): Promise<void> {
    const path = join(await this.#folder(), this.#parts.at(-1) ?? '')
    const there = await statOf(path)
    if (there?.isFile() && there.size > 0 && there.size + lines.length > this.#options.maxBytes)
      await this.#putAside(path)
    await using handle = await opened(path)
    const { size } = await handle.stat()
    try {
      await handle.appendFile(lines)
      await handle.datasync()
    } catch (error) {
      // Half a line must not stay, whatever else is full or broken.
      await handle.truncate(size).catch(() => undefined)
      throw error
    }
  }

  /** Every folder on the way is looked at: a link could lead out of the data folder. */
  async #folder(): Promise<string> {
    let folder = await realpath(this.#options.dataDir)
    for (const part of [EVENTS_FOLDER, ...this.#parts.slice(0, -1)]) {
      folder = join(folder, part)
      const found = (await statOf(folder)) ?? (await made(folder))
      if (!found.isDirectory()) throw unusable(`In the path of the file, ${part} is not a folder.`)
    }
    return folder
  }

  async #putAside(path: string): Promise<void> {
    const old = Array.from({ length: this.#options.files - 1 }, (_, at) => `${path}.${at + 1}`)
    const names = [path, ...old]
    for (let at = names.length - 1; at > 0; at--) {
      await rename(names[at - 1] ?? '', names[at] ?? '').catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      })
    }
  }
}

async function statOf(path: string): Promise<Stats | undefined> {
  return lstat(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  })
}

async function made(folder: string): Promise<Stats> {
  await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  })
  return lstat(folder)
}

async function opened(path: string): Promise<FileHandle> {
  const handle = await open(path, FLAGS, 0o600).catch((error: unknown) => {
    const { code = '' } = error as NodeJS.ErrnoException
    if (['ELOOP', 'EMLINK', 'EISDIR', 'ENXIO'].includes(code)) throw notPlain()
    throw error
  })
  try {
    const stats = await handle.stat()
    // Another name of the same file may be one outside of the data folder.
    if (!stats.isFile() || stats.nlink > 1) throw notPlain()
    await handle.chmod(0o600)
    await endLine(handle, stats.size)
    if (stats.size === 0) await syncFolder(join(path, '..'))
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

const notPlain = () => unusable('The path of the file leads to a link or to something that is not a file.')

/** When the process died while it wrote, the last line has no end: the next one must not be joined to it. */
async function endLine(handle: FileHandle, size: number): Promise<void> {
  if (size === 0) return
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1)
  if (buffer[0] !== NEWLINE) await handle.appendFile('\n')
}

/** Without this, a new name may be gone after a power failure. */
async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r')
  await folder.sync()
}
