/** Ids by what they belong to, so that a part of many records is found without reading them all. */
export class IdGroups {
  readonly #groups = new Map<string, Set<string>>()

  get keys(): string[] {
    return [...this.#groups.keys()]
  }

  of(key: string): string[] {
    return [...(this.#groups.get(key) ?? [])]
  }

  add(key: string, id: string): void {
    const ids = this.#groups.get(key)
    if (ids) ids.add(id)
    else this.#groups.set(key, new Set([id]))
  }

  delete(key: string, id: string): void {
    const ids = this.#groups.get(key)
    ids?.delete(id)
    if (ids?.size === 0) this.#groups.delete(key)
  }
}
