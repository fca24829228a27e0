import type { SourceRow } from '#registry/records/source.ts'

/** Finds rows by derived keys. Only the entries of a changed row are touched. */
export class RowIndex {
  readonly #keysOf: (row: SourceRow) => readonly string[]
  readonly #rows = new Map<string, SourceRow[]>()
  /** By id, so that a row is removed exactly where it was added. */
  readonly #keys = new Map<string, readonly string[]>()

  constructor(keysOf: (row: SourceRow) => readonly string[]) {
    this.#keysOf = keysOf
  }

  add(row: SourceRow): void {
    const keys = this.#keysOf(row)
    this.#keys.set(row.id, keys)
    for (const key of keys) {
      const held = this.#rows.get(key)
      if (held === undefined) this.#rows.set(key, [row])
      else held.push(row)
    }
  }

  remove(row: SourceRow): void {
    const keys = this.#keys.get(row.id) ?? []
    this.#keys.delete(row.id)
    for (const key of keys) {
      const rest = this.#rows.get(key)?.filter(held => held.id !== row.id) ?? []
      if (rest.length === 0) this.#rows.delete(key)
      else this.#rows.set(key, rest)
    }
  }

  all(key: string): readonly SourceRow[] {
    return this.#rows.get(key) ?? []
  }

  /** The only row under a key that the store keeps unique. */
  one(key: string): SourceRow | undefined {
    return this.#rows.get(key)?.[0]
  }
}
