import type { Records } from '#registry/records/records.ts'

interface CacheEntry<T> {
  readonly value: T
  readonly sources: ReadonlySet<string>
}

/** Caches compiled values until a record they depend on changes; other entries are not touched. */
export class DependencyCache<T extends { close(): void }> {
  readonly #compiled = new Map<string, CacheEntry<T>>()
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
    const known = this.#compiled.get(key)
    if (known !== undefined) return known.value
    const sources = new Set<string>([key])
    const value = this.#make(key, () => make(id => sources.add(id)))
    this.#compiled.set(key, { value, sources })
    for (const source of sources) {
      const users = this.#users.get(source) ?? new Set()
      this.#users.set(source, users.add(key))
    }
    return value
  }

  /** A record that it depends on was changed, created or deleted. */
  changed(id: string): void {
    for (const key of this.#users.get(id) ?? []) this.#drop(key)
  }

  close(): void {
    this.#stop()
    for (const key of this.#compiled.keys()) this.#drop(key)
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
    for (const source of known.sources) {
      const users = this.#users.get(source)
      users?.delete(key)
      if (users?.size === 0) this.#users.delete(source)
    }
    known.value.close()
  }
}
