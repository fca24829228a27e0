/** A resource as it is kept, with its secrets opened. */
export interface SourceRow {
  readonly kind: string
  readonly id: string
  readonly parent: string | null
  readonly version: number
  readonly body: Readonly<Record<string, unknown>>
  /** False: its secrets could not be opened. It takes its place, but nothing may be served with it. */
  readonly readable: boolean
}

export type SourceChange =
  | { readonly op: 'put'; readonly row: SourceRow }
  | { readonly op: 'remove'; readonly kind: string; readonly id: string }

export interface Follower {
  /** All there is; comes first, and again when changes were missed. */
  snapshot(rows: readonly SourceRow[]): void
  /** What changed since, in the order of revisions. A row may be put although it is known, or removed although not. */
  changes(batch: readonly SourceChange[]): void
}

/** Where the gateway learns what is configured. */
export interface Source {
  /** Resolves when the first snapshot was given; returns how to stop. */
  watch(kinds: readonly string[], follower: Follower): Promise<() => void>
}
