import { setTimeout as pause } from 'node:timers/promises'
import type { Accounts } from '#acme/accounts.ts'
import { waitAfter } from '#acme/backoff.ts'
import { inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'

interface AccountMaintenanceOptions {
  readonly accounts: Pick<Accounts, 'updateContact' | 'finishKeyChange' | 'changeKey'>
  readonly log: Log
  /** The shortest wait after a failure. */
  readonly shortestMs: number
  readonly random: () => number
}

/** Maintains the account itself, besides the orders: a failure here does not stop certificates. */
export class AccountMaintenance {
  readonly #options: AccountMaintenanceOptions
  readonly #abort = new AbortController()
  readonly #running = new Set<Promise<boolean>>()
  #changing: Promise<boolean> | undefined

  constructor(options: AccountMaintenanceOptions) {
    this.#options = options
  }

  /** Sends the CA what has changed since the last contact. */
  start(): void {
    const { accounts, log } = this.#options
    const update = async () => {
      if (await accounts.updateContact()) log.info('ACME contact updated')
    }
    void inBackground({ task: 'acme', log }, () =>
      this.#untilDone(update, 'updating the ACME contact failed'),
    )
    void inBackground({ task: 'acme', log }, () =>
      this.#untilDone(() => accounts.finishKeyChange(), 'the ACME account key change is not finished'),
    )
  }

  /** Resolves to true when the account has a new key; concurrent callers share the change. */
  changeKey(): Promise<boolean> {
    const { accounts, log } = this.#options
    const change = async () => {
      const account = await accounts.changeKey()
      if (account === undefined) log.info('there is no ACME account yet whose key could be changed')
      else log.info({ account }, 'the ACME account has a new key')
    }
    this.#changing ??= this.#untilDone(change, 'changing the ACME account key failed').finally(
      () => (this.#changing = undefined),
    )
    return this.#changing
  }

  /** Resolves when requests in flight are finished; the next start continues with the rest. */
  async close(): Promise<void> {
    this.#abort.abort()
    await Promise.all(this.#running)
  }

  #untilDone(work: () => Promise<void>, failure: string): Promise<boolean> {
    const running = this.#try(work, failure).finally(() => this.#running.delete(running))
    this.#running.add(running)
    return running
  }

  /** Retries as long as it takes; false when it was closed before. */
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
      const wait = waitAfter({ failures, shortest: shortestMs, dnsOnly: false }, random)
      await pause(wait, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted) return false
    }
  }
}
