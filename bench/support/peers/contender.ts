/** The address for clients. */
export interface Door {
  readonly port: number
  /** The host name they request. */
  readonly host: string
}

/** A program that forwards traffic to the upstream. An unsupported protocol has no address. */
export interface Contender extends AsyncDisposable {
  readonly name: string
  readonly http?: Door
  readonly https?: Door
  readonly tcp?: Door
  /** The processes whose CPU time is its cost. */
  readonly pids: readonly number[]
}

/** The upstreams of all contenders. */
export interface Upstream {
  readonly http: number
  readonly tcp: number
}
