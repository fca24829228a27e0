import { inBackground } from '#base/background.ts'
import { canSharePorts } from '#base/listen-on.ts'
import type { Log } from '#base/log.ts'

/** Messages of a parent process to the server that it accompanies. */
export type ServerOrder = 'reload' | 'share' | 'unshare' | 'released' | 'leave' | 'stop'

/** A server that can be replaced, in this process or another one. */
export interface Replaceable {
  readonly pid: number | undefined
  /** Resolves to the exit code once it has released everything. */
  readonly exited: Promise<number>
  send(order: ServerOrder): Promise<void> | void
}

interface RestartsOptions {
  readonly first: Replaceable
  /** Starts the same program again, while the previous one runs; rejects if it does not serve. */
  readonly start: () => Promise<Replaceable>
  readonly log: Log
}

/** Replaces the server by a new one on SIGUSR2. */
export class Restarts {
  readonly #start: RestartsOptions['start']
  readonly #log: Log
  #current: Replaceable
  /** A replacement is in progress: until the previous one has released everything, the next one has to wait. */
  #isBusy = false
  #isWanted = false
  /** Resolves when the previous server has released everything. */
  #left: Promise<unknown> = Promise.resolve()

  constructor({ first, start, log }: RestartsOptions) {
    this.#current = first
    this.#start = start
    this.#log = log
    process.on('SIGUSR2', () => this.#want())
  }

  /** For the server that runs. */
  send(order: ServerOrder): void {
    void inBackground({ task: 'restart', log: this.#log }, () => this.#current.send(order))
  }

  /** The server is exiting: it is no longer replaced. */
  stop(): void {
    this.#isBusy = true
  }

  /** Resolves to the exit code of the last server, when all have exited. */
  async ended(): Promise<number> {
    for (;;) {
      const current = this.#current
      const code = await current.exited
      if (current !== this.#current) continue
      await this.#left
      return code
    }
  }

  #want(): void {
    this.#isWanted = true
    if (this.#isBusy) return
    if (canSharePorts) this.#restartInBackground()
    else {
      const { platform } = process
      this.#log.warn({ platform }, 'a server cannot be replaced on this platform: restart it')
    }
  }

  #restartInBackground(): void {
    void inBackground({ task: 'restart', log: this.#log }, () => this.#restart())
  }

  async #restart(): Promise<void> {
    this.#isBusy = true
    this.#isWanted = false
    const before = this.#current
    await before.send('share')
    try {
      this.#current = await this.#start()
    } catch (error) {
      this.#log.error({ error }, 'the server was not replaced and continues')
      await before.send('unshare')
      this.#isBusy = false
      return
    }
    this.#log.info({ process: this.#current.pid }, 'a new process serves')
    this.#left = before.exited
    await before.send('leave')
    await this.#left
    await this.#current.send('released')
    this.#isBusy = false
    if (this.#isWanted) this.#restartInBackground()
  }
}
