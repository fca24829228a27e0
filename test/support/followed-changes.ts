import { createClient } from '#client/client.ts'
import type { Change } from '#contract/streams.ts'
import type { Caller } from './server.ts'

/** A client of /changes/stream, which reads until it is left. */
export class FollowedChanges implements AsyncDisposable {
  /** All that have arrived. */
  readonly seen: Change[] = []
  dropped = 0
  readonly #abort = new AbortController()
  #wake = Promise.withResolvers<void>()
  #reading = Promise.resolve()

  /** Resolves once later changes are not missed. */
  static async open(
    { url, token }: Pick<Caller, 'url' | 'token'>,
    filters: { readonly kind?: string } = {},
  ): Promise<FollowedChanges> {
    const followed = new FollowedChanges()
    const opened = Promise.withResolvers<void>()
    const items = createClient({ url, token }).streams.changes(filters, {
      signal: followed.#abort.signal,
      opened: opened.resolve,
      dropped: count => followed.#arrived(() => (followed.dropped += count)),
    })
    followed.#reading = followed.#read(items)
    followed.#reading.then(opened.resolve, opened.reject)
    await opened.promise
    return followed
  }

  /** Resolves when the server has ended the stream. */
  get ended(): Promise<void> {
    return this.#reading
  }

  /** Resolves when this is true. */
  async until(isTrue: (seen: readonly Change[]) => boolean): Promise<void> {
    while (!isTrue(this.seen)) await this.#wake.promise
  }

  /** What has happened to one resource, once it has been deleted. */
  async lifeOf(id: string): Promise<string[]> {
    const own = (): Change[] => this.seen.filter(change => change.id === id)
    await this.until(() => own().at(-1)?.change === 'deleted')
    return own().map(({ kind, change }) => `${kind} ${change}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort()
    await this.#reading
  }

  async #read(items: AsyncIterable<Change>): Promise<void> {
    for await (const change of items) this.#arrived(() => this.seen.push(change))
  }

  #arrived(note: () => void): void {
    note()
    this.#wake.resolve()
    this.#wake = Promise.withResolvers()
  }
}
