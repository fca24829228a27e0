/** Ids by what they belong to, so that a part of many records is found without reading them all. */
export class IdGroups {
  /** Most groups have one id, for which a set would need more memory than the record. */
  readonly #groups = new Map<string, string | Set<string>>()

  get keys(): string[] {
    return [...this.#groups.keys()]
  }

  has(key: string): boolean {
    return this.#groups.has(key)
  }

  of(key: string): string[] {
    const ids = this.#groups.get(key) ?? []
    return typeof ids === 'string' ? [ids] : [...ids]
  }

  count(key: string): number {
    const ids = this.#groups.get(key)
    return typeof ids === 'object' ? ids.size : Number(ids !== undefined)
  }

  add(key: string, id: string): void {
    const ids = this.#groups.get(key)
    if (ids === undefined) this.#groups.set(key, id)
    else if (typeof ids !== 'string') ids.add(id)
    else if (ids !== id) this.#groups.set(key, new Set([ids, id]))
  }

  delete(key: string, id: string): void {
    const ids = this.#groups.get(key)
    if (typeof ids === 'object') ids.delete(id)
    if (ids === id || (typeof ids === 'object' && ids.size === 0)) this.#groups.delete(key)
  }
}
