import type { Stats } from 'node:fs'
import { lstat, mkdir, realpath, rename } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { KeyedSerialQueue } from '#base/serial-queue.ts'
import { unusable } from '#events/destinations/failures.ts'
import { PlainFile, statOf } from '#events/destinations/plain-file.ts'

interface EventFileOptions {
  readonly dataDir: string
  /** Below the folder of events. */
  readonly path: string
  /** A file that would exceed this is rotated. */
  readonly maxBytes: number
  /** Number of files, including the current one. */
  readonly files: number
}

/** A subfolder, so that no destination can name the database or the keys. */
const EVENTS_FOLDER = 'events'

const MAX_PARTS = 16
const IDLE_MS = 5000

/** The parts of a path that stays inside of its folder. */
function partsOf(path: string): string[] {
  const parts = path.split('/')
  const isPlain = (part: string): boolean =>
    part !== '' && part !== '.' && part !== '..' && part.length <= 200 && !/[\\:\0]/.test(part)
  if (isAbsolute(path) || parts.length > MAX_PARTS || !parts.every(isPlain))
    throw unusable('The path of the file is not one inside of the data folder.')
  return parts
}

/**
 * Appends lines to a file inside the data folder, durably. While lines keep coming the file stays open: checking every
 * parent folder each time costs more than the lines do.
 */
export class EventFile {
  /** Two destinations may name the same file: one writes at a time. */
  static readonly #queue = new KeyedSerialQueue()
  readonly #options: EventFileOptions
  readonly #parts: readonly string[]
  readonly #key: string
  #open: PlainFile | undefined
  #idle: NodeJS.Timeout | undefined

  constructor(options: EventFileOptions) {
    this.#options = options
    this.#parts = partsOf(options.path)
    this.#key = join(options.dataDir, ...this.#parts)
  }

  append(lines: Buffer): Promise<void> {
    return EventFile.#queue.run(this.#key, () => this.#append(lines))
  }

  /** Closes the file when idle; it is reopened on demand. */
  async close(): Promise<void> {
    await EventFile.#queue.run(this.#key, () => this.#release()).catch(() => undefined)
  }

  async #append(lines: Buffer): Promise<void> {
    const file = await this.#ready(lines.length)
    this.#open = file
    this.#idle ??= setTimeout(() => void this.close(), IDLE_MS).unref()
    this.#idle.refresh()
    try {
      await file.append(lines)
    } catch (error) {
      await this.#release()
      throw error
    }
  }

  /** The file, open, with room for so many bytes. */
  async #ready(bytes: number): Promise<PlainFile> {
    const { maxBytes } = this.#options
    const hasRoom = (size: number): boolean => size === 0 || size + bytes <= maxBytes
    if (this.#open && hasRoom(this.#open.size) && (await this.#open.isStillThere())) return this.#open
    await this.#release()
    const path = join(await this.#folder(), this.#parts.at(-1) ?? '')
    const there = await statOf(path)
    if (there?.isFile() && !hasRoom(there.size)) await this.#rotate(path)
    return PlainFile.open(path)
  }

  async #release(): Promise<void> {
    clearTimeout(this.#idle)
    const file = this.#open
    this.#idle = undefined
    this.#open = undefined
    await file?.close()
  }

  /** Every parent folder is checked: a link could lead out of the data folder. */
  async #folder(): Promise<string> {
    let folder = await realpath(this.#options.dataDir)
    for (const part of [EVENTS_FOLDER, ...this.#parts.slice(0, -1)]) {
      folder = join(folder, part)
      const found = (await statOf(folder)) ?? (await made(folder))
      if (!found.isDirectory()) throw unusable(`In the path of the file, ${part} is not a folder.`)
    }
    return folder
  }

  async #rotate(path: string): Promise<void> {
    const old = Array.from({ length: this.#options.files - 1 }, (_, at) => `${path}.${at + 1}`)
    const names = [path, ...old]
    for (let at = names.length - 1; at > 0; at--) {
      await rename(names[at - 1] ?? '', names[at] ?? '').catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      })
    }
  }
}

async function made(folder: string): Promise<Stats> {
  await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  })
  return lstat(folder)
}
