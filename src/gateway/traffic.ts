/** Which kinds of traffic somebody wants to hear of. */
export interface WantedTraffic {
  readonly http: boolean
  readonly tcp: boolean
}

/** Something that happened, for an event; `object` is JSON text. Plain data: it travels between processes. */
export interface TrafficEvent {
  readonly id: string
  readonly type: 'http_request_complete.v0' | 'tcp_connection_closed.v0'
  /** RFC 3339. */
  readonly at: string
  readonly object: string
}

export interface TrafficBatch {
  readonly events: readonly TrafficEvent[]
  /** How many are missing before these: they came faster than they could be told. */
  readonly dropped: number
}

export type TellTraffic = (batch: TrafficBatch) => Promise<void> | void

const GATHER_MS = 50
const MAX_WAITING = 10_000

/** Gathers what is told of traffic. Who tells asks `http` or `tcp` first, so that nothing is made that nobody wants. */
export class Traffic {
  http = false
  tcp = false
  readonly #tell: TellTraffic
  #waiting: TrafficEvent[] = []
  #dropped = 0
  #telling = false

  constructor(tell: TellTraffic) {
    this.#tell = tell
  }

  want({ http, tcp }: WantedTraffic): void {
    this.http = http
    this.tcp = tcp
  }

  put(event: TrafficEvent): void {
    if (this.#waiting.length >= MAX_WAITING) this.#dropped++
    else this.#waiting.push(event)
    if (this.#telling) return
    this.#telling = true
    setTimeout(() => void this.#flush(), GATHER_MS).unref()
  }

  /** One batch at a time: a reader that is slow makes events go missing, not memory grow. */
  async #flush(): Promise<void> {
    const batch = { events: this.#waiting, dropped: this.#dropped }
    this.#waiting = []
    this.#dropped = 0
    try {
      await this.#tell(batch)
    } catch {
      this.#dropped += batch.events.length + batch.dropped
    }
    this.#telling = this.#waiting.length > 0
    if (this.#telling) setTimeout(() => void this.#flush(), GATHER_MS).unref()
  }
}
