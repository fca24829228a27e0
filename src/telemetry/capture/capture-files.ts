import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { backgroundFailure, inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import { captureFile, readCaptureFile } from '#telemetry/capture/capture-file.ts'
import type { CaptureFolder } from '#telemetry/capture/capture-folder.ts'
import type { CapturedRequest } from '#telemetry/capture/captured-request.ts'

interface CaptureFilesOptions {
  readonly folder: CaptureFolder
  readonly log: Log
  /** Headers whose values are not written. */
  readonly masked: ReadonlySet<string>
  /** Of one file. */
  readonly maxBytes: number
  /** A file of the previous process was read; false if there is no room for it. */
  readonly restore: (captured: CapturedRequest) => boolean
  /** A file of this size was written; false if the capture was evicted before. */
  readonly saved: (captured: CapturedRequest, bytes: number) => boolean
}

const OWNER_ALONE = 0o600
/** Captures that wait for a slow disk; further ones are not saved. */
const MAX_PENDING = 1024
/** In one log line. */
const MAX_NAMES = 10

/** The captures of one process as files, so that they survive a restart. Requests never wait for the disk. */
export class CaptureFiles {
  readonly #options: CaptureFilesOptions
  readonly #made: Promise<void>
  readonly #loaded: Promise<void>
  readonly #pending = new Map<string, CapturedRequest>()
  /** There are never more than files, because removing goes before writing. */
  readonly #removals: string[] = []
  #running: Promise<void> | undefined
  #unsaved = 0
  #isFailing = false
  #isClosing = false

  constructor(options: CaptureFilesOptions) {
    this.#options = options
    const { folder, log } = options
    const task = { task: 'captures', log, about: { folder: folder.path } } as const
    this.#made = inBackground({ ...task, failed: 'the folder for captures cannot be made' }, () =>
      folder.make(),
    )
    this.#loaded = inBackground({ ...task, failed: 'captures cannot be read back' }, () => this.#load())
  }

  /** How many could not be saved. */
  get unsaved(): number {
    return this.#unsaved
  }

  /** Saves a capture that has ended, soon. */
  save(captured: CapturedRequest): void {
    if (this.#pending.size >= MAX_PENDING) {
      this.#unsaved++
      return
    }
    this.#pending.set(captured.id, captured)
    this.#run()
  }

  /** Removes the file of a capture. One that is just being written is removed afterwards. */
  evicted(id: string, fileBytes: number): void {
    if (this.#pending.delete(id) || fileBytes === 0) return
    this.#removals.push(id)
    this.#run()
  }

  /** Resolves when all that waited is written. */
  async close(): Promise<void> {
    this.#isClosing = true
    await this.#loaded
    await this.#running
  }

  #run(): void {
    this.#running ??= inBackground({ task: 'captures', log: this.#options.log }, async () => {
      await this.#made
      for (let next = this.#next(); next !== undefined; next = this.#next()) await this.#attempt(next)
      this.#running = undefined
    })
  }

  #next(): (() => Promise<void>) | undefined {
    const id = this.#removals.pop()
    if (id !== undefined) return () => this.#remove(id)
    const [captured] = this.#pending.values()
    if (captured === undefined) return undefined
    this.#pending.delete(captured.id)
    return () => this.#write(captured)
  }

  /** A full disk fails each time, and is logged once. */
  async #attempt(step: () => Promise<void>): Promise<void> {
    try {
      await step()
      this.#isFailing = false
    } catch (error) {
      const { folder, log } = this.#options
      const failed = 'captures cannot be saved'
      if (!this.#isFailing)
        backgroundFailure({ task: 'captures', log, failed, about: { folder: folder.path } }, error)
      this.#isFailing = true
    }
  }

  async #write(captured: CapturedRequest): Promise<void> {
    const { folder, masked, saved } = this.#options
    const parts = captureFile(captured, masked)
    try {
      await writeFile(folder.fileOf(captured.id), parts, { mode: OWNER_ALONE })
    } catch (error) {
      this.#unsaved++
      await this.#remove(captured.id)
      throw error
    }
    const bytes = parts.reduce((sum, part) => sum + part.length, 0)
    if (!saved(captured, bytes)) await this.#remove(captured.id)
  }

  #remove(id: string): Promise<void> {
    return rm(this.#options.folder.fileOf(id), { force: true })
  }

  /** The newest first; older ones for which there is no room are removed. */
  async #load(): Promise<void> {
    const { folder, log, restore } = this.#options
    await this.#made
    const { ids, foreign } = await folder.list()
    const damaged: string[] = []
    let isFull = false
    for (const id of ids) {
      if (this.#isClosing) return
      const captured: CapturedRequest | undefined = isFull ? undefined : await this.#read(id)
      if (captured === undefined && !isFull) damaged.push(id)
      isFull ||= captured !== undefined && !restore(captured)
      if (captured === undefined || isFull) await this.#remove(id)
    }
    const about = { folder: folder.path }
    if (foreign.length > 0)
      log.warn(
        { ...about, files: foreign.slice(0, MAX_NAMES), count: foreign.length },
        'not a capture; ignored',
      )
    if (damaged.length > 0)
      log.warn(
        { ...about, files: damaged.slice(0, MAX_NAMES), count: damaged.length },
        'damaged captures removed',
      )
  }

  async #read(id: string): Promise<CapturedRequest | undefined> {
    const path = this.#options.folder.fileOf(id)
    try {
      const { size } = await stat(path)
      const captured = size <= this.#options.maxBytes ? readCaptureFile(await readFile(path), id) : undefined
      if (captured !== undefined) captured.fileBytes = size
      return captured
    } catch {
      // Unreadable, or removed by the predecessor of this process.
      return undefined
    }
  }
}
