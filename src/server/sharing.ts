import { inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import type { Store } from '#store/store.ts'

interface SharingOptions {
  readonly store: Pick<Store, 'own' | 'share'>
  readonly log: Log
  /** The predecessor of this process still runs. */
  readonly isShared: boolean
}

/** Whether another process uses the same database and ports: the predecessor of this one, or its successor. */
export class Sharing {
  readonly #store: SharingOptions['store']
  readonly #log: Log
  #isShared: boolean

  constructor({ store, log, isShared }: SharingOptions) {
    this.#store = store
    this.#log = log
    this.#isShared = isShared
  }

  readonly isShared = (): boolean => this.#isShared

  /** A successor is about to start. */
  share(): void {
    this.#isShared = true
    this.#store.share()
  }

  /** The successor did not start. Never rejects. */
  unshare(): Promise<void> {
    return inBackground({ task: 'restart', log: this.#log }, () => this.own())
  }

  /** The other process has ended. */
  async own(): Promise<void> {
    await this.#store.own()
    this.#isShared = false
  }
}
