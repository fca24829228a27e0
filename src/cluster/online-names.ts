import { readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '#base/log.ts'
import { SerialQueue } from '#base/serial-queue.ts'
import type { Directory, TunnelRecord } from '#registry/directory.ts'

const FILE = 'online-names.json'
const WRITE_MS = 1000
const MAX_NAMES = 10_000

/** The names that were online when the server stopped; an unreadable file counts as empty. */
export function namesBefore(dataDir: string): string[] {
  try {
    const names: unknown = JSON.parse(readFileSync(join(dataDir, FILE), 'utf8'))
    return Array.isArray(names) ? names.filter(name => typeof name === 'string').slice(0, MAX_NAMES) : []
  } catch {
    return []
  }
}

/** Stores the online names in a file, so that a restarted server knows which agents to expect. */
export class OnlineNamesFile {
  readonly #path: string
  readonly #log: Log
  readonly #tunnels = new Map<string, Set<string>>()
  readonly #queue = new SerialQueue()
  readonly #stop: () => void
  #timer: NodeJS.Timeout | undefined

  constructor(dataDir: string, directory: Directory, log: Log) {
    this.#path = join(dataDir, FILE)
    this.#log = log
    this.#stop = directory.watch({
      added: tunnel => this.#added(tunnel),
      removed: tunnel => this.#removed(tunnel),
    })
  }

  /** Called while the agents are still connected: they are expected after a restart. */
  async close(): Promise<void> {
    this.#stop()
    if (this.#timer !== undefined) this.#write()
    await this.#queue.settled()
  }

  #added({ id, address }: TunnelRecord): void {
    if (address === undefined || address.scheme === 'tcp') return
    const ids = this.#tunnels.get(address.host)
    if (ids !== undefined) {
      ids.add(id)
      return
    }
    if (this.#tunnels.size >= MAX_NAMES) return
    this.#tunnels.set(address.host, new Set([id]))
    this.#changed()
  }

  #removed({ id, address }: TunnelRecord): void {
    if (address === undefined || address.scheme === 'tcp') return
    const ids = this.#tunnels.get(address.host)
    ids?.delete(id)
    if (ids?.size !== 0) return
    this.#tunnels.delete(address.host)
    this.#changed()
  }

  #changed(): void {
    this.#timer ??= setTimeout(() => this.#write(), WRITE_MS).unref()
  }

  #write(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const text = JSON.stringify([...this.#tunnels.keys()])
    void this.#queue.run(() => this.#replace(text))
  }

  async #replace(text: string): Promise<void> {
    try {
      await writeFile(`${this.#path}.new`, text, { mode: 0o600 })
      await rename(`${this.#path}.new`, this.#path)
    } catch (error) {
      // Such as a full disk: clients get 404 instead of 503 after a restart, and nothing else depends on it.
      this.#log.warn({ error }, 'online names not written')
    }
  }
}
