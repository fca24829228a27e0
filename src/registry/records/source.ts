import type { Kind } from '#contract/kind.ts'
import type { Stored } from '#contract/shape.ts'

/** A stored resource, with its secrets decrypted. */
export interface SourceRow<Body = Readonly<Record<string, unknown>>> {
  readonly kind: string
  readonly id: string
  readonly parent: string | null
  readonly version: number
  readonly body: Body
  /** False: its secrets could not be decrypted. It keeps its place, but nothing may be served with it. */
  readonly readable: boolean
}

/** A row of a kind of the contract. One of an earlier release may lack fields. */
export type RowOf<K extends Kind> = SourceRow<Readonly<Partial<Stored<K['shape']>>>>

export type SourceChange =
  | { readonly op: 'put'; readonly row: SourceRow }
  | { readonly op: 'remove'; readonly kind: string; readonly id: string }

export interface Follower {
  /** All rows; comes first, and again when changes were missed. */
  snapshot(rows: readonly SourceRow[]): void
  /** Changes since, in the order of revisions. A put may be for a known row, and a remove for an unknown one. */
  changes(batch: readonly SourceChange[]): void
}

/** The gateway's source of configuration. */
export interface Source {
  /** Resolves after the first snapshot; returns how to stop. */
  watch(kinds: readonly string[], follower: Follower): Promise<() => void>
  /** Resolves when the followers have what was changed until now, anywhere, or it cannot be read. */
  refresh(): Promise<void>
}
