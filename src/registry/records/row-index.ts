import type { SourceRow } from '#registry/records/source.ts'

/** What a change of a row needs of an index. */
export interface ChangingIndex {
  add(row: SourceRow): void
  remove(row: SourceRow): void
}

/** Finds rows by derived keys. Only the entries of a changed row are touched. */
export class RowIndex<Row extends SourceRow = SourceRow> implements ChangingIndex {
  readonly #keysOf: (row: Row) => readonly string[]
  readonly #rows = new Map<string, Row[]>()
  /** By id, so that a row is removed exactly where it was added. */
  readonly #keys = new Map<string, readonly string[]>()

  constructor(keysOf: (row: Row) => readonly string[]) {
    this.#keysOf = keysOf
  }

  add(added: SourceRow): void {
    // An index gets the rows of its own kinds.
    const row = added as Row
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

  all(key: string): readonly Row[] {
    return this.#rows.get(key) ?? []
  }

  /** The only row under a key that the store keeps unique. */
  one(key: string): Row | undefined {
    return this.#rows.get(key)?.[0]
  }
}
