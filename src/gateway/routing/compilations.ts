import type { Records } from '#registry/records/records.ts'

interface Compilation<T> {
  readonly value: T
  readonly sources: ReadonlySet<string>
}

/** Keeps what was compiled until a record that it was made from changes; what others were made from is not touched. */
export class Compilations<T extends { close(): void }> {
  readonly #compiled = new Map<string, Compilation<T>>()
  readonly #users = new Map<string, Set<string>>()
  readonly #broken: (error: unknown, key: string) => T
  readonly #stop: () => void

  /** `broken` stands in for what cannot be made, until a record that was looked at changes. */
  constructor(records: Pick<Records, 'onAnyChange'>, broken: (error: unknown, key: string) => T) {
    this.#broken = broken
    this.#stop = records.onAnyChange(({ id }) => this.changed(id))
  }

  /** What is kept under a key, or is made now; `uses` is told the id of every record that is looked at. */
  get(key: string, make: (uses: (id: string) => void) => T): T {
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

  /** What it was made from has changed, come or gone; of records it is known. */
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
