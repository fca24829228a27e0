import { setTimeout as pause } from 'node:timers/promises'
import type { Accounts } from '#acme/accounts.ts'
import { waitAfter } from '#acme/backoff.ts'
import { inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'

export interface AccountCareOptions {
  readonly accounts: Pick<Accounts, 'tellContact' | 'finishKeyChange' | 'changeKey'>
  readonly log: Log
  /** The shortest wait after a failure. */
  readonly shortestMs: number
  readonly random: () => number
}

/** Sees to the account itself, beside the orders: nothing that fails here keeps a certificate from being issued. */
export class AccountCare {
  readonly #options: AccountCareOptions
  readonly #abort = new AbortController()
  readonly #running = new Set<Promise<boolean>>()
  #changing: Promise<boolean> | undefined

  constructor(options: AccountCareOptions) {
    this.#options = options
  }

  /** Brings to the authority what has changed since it last heard of us. */
  start(): void {
    const { accounts, log } = this.#options
    const tell = async () => {
      if (await accounts.tellContact()) log.info('ACME contact updated')
    }
    void inBackground({ task: 'acme', log }, () =>
      this.#untilDone(tell, 'the authority could not be told where to write to'),
    )
    void inBackground({ task: 'acme', log }, () =>
      this.#untilDone(() => accounts.finishKeyChange(), 'a change of the account key is not done yet'),
    )
  }

  /** Resolves to true when the account has a new key; whoever asks meanwhile means the same change. */
  changeKey(): Promise<boolean> {
    const { accounts, log } = this.#options
    const change = async () => {
      const account = await accounts.changeKey()
      if (account === undefined)
        log.info('there is no account at the authority yet whose key could be changed')
      else log.info({ account }, 'the account at the authority has a new key')
    }
    this.#changing ??= this.#untilDone(change, 'the account key could not be changed').finally(
      () => (this.#changing = undefined),
    )
    return this.#changing
  }

  /** Resolves when what is on its way has come to an end; the next start goes on with what was left. */
  async close(): Promise<void> {
    this.#abort.abort()
    await Promise.all(this.#running)
  }

  #untilDone(work: () => Promise<void>, failure: string): Promise<boolean> {
    const running = this.#try(work, failure).finally(() => this.#running.delete(running))
    this.#running.add(running)
    return running
  }

  /** Tries for as long as it takes; false when it was closed before. */
  async #try(work: () => Promise<void>, failure: string): Promise<boolean> {
    const { log, shortestMs, random } = this.#options
    const { signal } = this.#abort
    for (let failures = 1; ; failures++) {
      try {
        await work()
        return true
      } catch (error) {
        if (signal.aborted) return false
        log.warn({ error }, failure)
      }
      const wait = waitAfter({ failures, shortest: shortestMs, onlyLooked: false }, random)
      await pause(wait, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted) return false
    }
  }
}
