import { chmod, mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { GatewayInfo } from '#registry/gateway-info.ts'

const OWNER_ALONE = 0o700
/** The only process, or one of the workers. */
const PROCESS = /^(?:main|w\d+)$/
const SUFFIX = '.capture'
const FILE = /^(rq_[0-9A-Za-z]{27})\.capture$/

interface FoundFiles {
  /** The newest first. */
  readonly ids: readonly string[]
  /** What is not from here. */
  readonly foreign: readonly string[]
}

/** Where one gateway process keeps its captures: each has a folder of its own within the configured one. */
export class CaptureFolder {
  readonly path: string
  readonly #parent: string
  readonly #own: string
  readonly #workers: number

  constructor(parent: string, { node, workers }: Pick<GatewayInfo, 'node' | 'workers'>) {
    // A node of a cluster has one process, whatever its name is.
    this.#own = workers > 1 ? node : 'main'
    this.#workers = workers
    this.#parent = parent
    this.path = join(parent, this.#own)
  }

  fileOf(id: string): string {
    return join(this.path, `${id}${SUFFIX}`)
  }

  async make(): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: OWNER_ALONE })
    await chmod(this.path, OWNER_ALONE)
  }

  async list(): Promise<FoundFiles> {
    if (this.#own === 'main' || this.#own === 'w1') await this.#takeOver()
    const entries = await readdir(this.path, { withFileTypes: true })
    const isOwn = (entry: (typeof entries)[number]): boolean => entry.isFile() && FILE.test(entry.name)
    return {
      ids: entries
        .filter(isOwn)
        .map(({ name }) => name.slice(0, -SUFFIX.length))
        .toSorted()
        .toReversed(),
      foreign: entries.filter(entry => !isOwn(entry)).map(({ name }) => name),
    }
  }

  /** The first process gets the files of processes that there no longer are. */
  async #takeOver(): Promise<void> {
    const entries = await readdir(this.#parent, { withFileTypes: true })
    for (const entry of entries)
      if (entry.isDirectory() && PROCESS.test(entry.name) && !this.#isRunning(entry.name))
        for (const name of await readdir(join(this.#parent, entry.name)))
          // A predecessor that still runs may remove it meanwhile.
          if (FILE.test(name))
            await rename(join(this.#parent, entry.name, name), join(this.path, name)).catch(() => undefined)
  }

  #isRunning(name: string): boolean {
    if (this.#workers === 1 || name === 'main') return name === this.#own
    return Number(name.slice(1)) <= this.#workers
  }
}
