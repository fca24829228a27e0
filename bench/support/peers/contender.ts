/** Where visitors knock. */
export interface Door {
  readonly port: number
  /** The name they ask for. */
  readonly host: string
}

/** Something that carries traffic to the upstream. What it cannot carry has no door. */
export interface Contender extends AsyncDisposable {
  readonly name: string
  readonly http?: Door
  readonly https?: Door
  readonly tcp?: Door
  /** The processes whose time is its cost. */
  readonly pids: readonly number[]
}

/** What all contenders forward to. */
export interface Upstream {
  readonly http: number
  readonly tcp: number
}
