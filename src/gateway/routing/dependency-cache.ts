import type { Records } from '#registry/records/records.ts'

/** A cached value. Its holder needs no look-up while it is current. */
export interface CacheEntry<T> {
  readonly value: T
  /** False once a record it depends on has changed. */
  readonly isCurrent: boolean
}

interface OwnEntry<T> extends CacheEntry<T> {
  isCurrent: boolean
  readonly sources: ReadonlySet<string>
}

/** Caches compiled values until a record they depend on changes; other entries are not touched. */
export class DependencyCache<T extends { close(): void }> {
  readonly #compiled = new Map<string, OwnEntry<T>>()
  readonly #users = new Map<string, Set<string>>()
  readonly #broken: (error: unknown, key: string) => T
  readonly #stop: () => void

  /** `broken` replaces what cannot be compiled, until one of its records changes. */
  constructor(records: Pick<Records, 'onAnyChange'>, broken: (error: unknown, key: string) => T) {
    this.#broken = broken
    this.#stop = records.onAnyChange(({ id }) => this.changed(id))
  }

  /** The cached value of a key, compiled if needed; `dependsOn` gets the id of every record it depends on. */
  get(key: string, make: (dependsOn: (id: string) => void) => T): T {
    return this.entry(key, make).value
  }

  /** The same, to be kept. */
  entry(key: string, make: (dependsOn: (id: string) => void) => T): CacheEntry<T> {
    const known = this.#compiled.get(key)
    if (known !== undefined) return known
    const sources = new Set<string>([key])
    const value = this.#make(key, () => make(id => sources.add(id)))
    const made = { value, sources, isCurrent: true }
    this.#compiled.set(key, made)
    for (const source of sources) {
      const users = this.#users.get(source) ?? new Set()
      this.#users.set(source, users.add(key))
    }
    return made
  }

  /** A record that it depends on was changed, created or deleted. */
  changed(id: string): void {
    for (const key of this.#users.get(id) ?? []) this.#drop(key)
  }

  /** Everything is compiled again when it is needed. */
  clear(): void {
    for (const key of this.#compiled.keys()) this.#drop(key)
  }

  close(): void {
    this.#stop()
    this.clear()
  }

  #make(key: string, make: () => T): T {
    try {
      return make()
    } catch (error) {
      return this.#broken(error, key)
    }
  }

  #drop(key: string): void {
    const known = this.#compiled.get(key)
    if (known === undefined) return
    this.#compiled.delete(key)
    known.isCurrent = false
    for (const source of known.sources) {
      const users = this.#users.get(source)
      users?.delete(key)
      if (users?.size === 0) this.#users.delete(source)
    }
    known.value.close()
  }
}
