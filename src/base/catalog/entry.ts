/** One error: its number, its status and its message. */
export interface CatalogEntry {
  /** The number in the public catalogue of this API; absent if there is none. */
  readonly number?: number
  readonly status: number
  /**
   * Another resource already has or uses the requested value. The status is that of the public API; commands exit with
   * a separate code.
   */
  readonly conflict?: true
  /** One sentence with what is wrong and what to change; the throwing code fills in `{name}`. */
  readonly text: string
}
