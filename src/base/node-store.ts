/** A server of a cluster, as the database knows it. */
export interface NodeRow {
  readonly id: string
  /** Grows with every join: what a node has written in an earlier epoch is void. */
  readonly epoch: number
  /** JSON text that the store never parses. */
  readonly info: string
  readonly clients: number
  readonly isDraining: boolean
  /** Until its lease ends; negative when it has ended. */
  readonly leaseMs: number
}

/** What a node writes about itself. */
export interface NodeReport {
  readonly id: string
  readonly info: string
  readonly clients: number
}

export interface Renewal {
  /** False: the lease had ended, or the node was removed. It needs a new epoch. */
  readonly isRenewed: boolean
  readonly nodes: readonly NodeRow[]
}

/** A change of what is online. `text` is what followers get. */
export type OnlineWrite =
  | { readonly op: 'put_session'; readonly id: string; readonly body: string; readonly text: string }
  | { readonly op: 'put_tunnel'; readonly tunnel: TunnelClaim; readonly text: string }
  /** Ignored if the row is of another node. */
  | {
      readonly op: 'drop_session' | 'drop_tunnel'
      readonly id: string
      readonly node: string
      readonly text: string
    }
  /** Only followers see it. */
  | { readonly op: 'mark'; readonly text: string }
  /** The node begins to write all of its records, or has written them: what earlier epochs have left is removed. */
  | { readonly op: 'restoring'; readonly isRestoring: boolean }

/** A tunnel that claims its address. */
export interface TunnelClaim {
  readonly id: string
  readonly body: string
  /** What one user owns, and what one agent or pool has; undefined without an address. */
  readonly place: string | undefined
  readonly address: string | undefined
  /** The user. */
  readonly owner: string
  /** Why it cannot share its address with the tunnels that hold it; undefined if it can. */
  admit(holders: readonly string[]): unknown
}

export type OnlineOutcome =
  /** Nothing was written: the node has lost its epoch, or the database server what the node had written. */
  | { readonly is: 'fenced' | 'lost' }
  | {
      readonly is: 'written'
      readonly incarnation: string
      /** The numbers of the changes are those after `before`. */
      readonly before: number
      readonly texts: readonly string[]
      /** What `admit` returned for each write. */
      readonly refusals: readonly unknown[]
    }

export interface OnlineRow {
  readonly node: string
  readonly epoch: number
  readonly body: string
}

/** Where a snapshot is. */
export interface OnlineState {
  /** Undefined while nothing was ever written, or after the loss of the database server. */
  readonly incarnation: string | undefined
  readonly sequence: number
  /** Nodes that have not yet written all of their records. */
  readonly restoring: ReadonlySet<string>
}

/** Gets the rows of a snapshot as they are read: there may be very many. */
export interface SnapshotReader {
  session(row: OnlineRow): void
  tunnel(row: OnlineRow): void
}

/** The shared state of the servers of a cluster. Methods reject with a `StoreError` when the database fails. */
export interface NodeStore extends AsyncDisposable {
  /** Gives a node a new epoch and a lease. */
  join(report: NodeReport): Promise<number>
  renew(report: NodeReport, epoch: number): Promise<Renewal>
  /** How many nodes hold a lease. */
  countLive(): Promise<number>
  /** Removes a node with all that it has online. */
  leave(id: string): Promise<void>
  /** False if there is no such node. */
  drain(id: string): Promise<boolean>
  /** Removes what expired epochs have left, and old changes. */
  sweep(): Promise<void>
  /** Adds to what the node has written in this incarnation, and is `lost` in any other. Undefined: in the current one. */
  write(
    node: Pick<NodeRow, 'id' | 'epoch'>,
    incarnation: string | undefined,
    batch: readonly OnlineWrite[],
  ): Promise<OnlineOutcome>
  snapshot(reader: SnapshotReader): Promise<OnlineState>
  /**
   * The changes after this one; fewer than CHANGES_PAGE if there are no more. Undefined: they are not there any more, so
   * that a snapshot is needed.
   */
  changes(incarnation: string, after: number): Promise<readonly string[] | undefined>
  /** The other nodes read the nodes now instead of at their next renewal. */
  notify(): Promise<void>
  /** Calls back when another process may have changed something. A lost connection is opened again. */
  listen(wake: Wake): void
}

/** As many changes are read at a time. */
export const CHANGES_PAGE = 1000

/** `nodes`: the nodes, and perhaps the directory. `directory`: what is online. `resources`: the store's rows. */
export type Wake = (what: 'nodes' | 'directory' | 'resources') => void
