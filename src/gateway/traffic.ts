import { newId } from '#base/ids.ts'
import type { HttpField, TcpField, TrafficType } from '#contract/events/traffic-fields.ts'
import { httpWriter, type SeenRequest } from '#gateway/traffic/http-fields.ts'
import { momentText, wallTime } from '#gateway/traffic/moments.ts'
import { type SeenConnection, tcpWriter } from '#gateway/traffic/tcp-fields.ts'
import type { Write } from '#gateway/traffic/writer.ts'

/** What somebody wants to hear of each kind of traffic; empty: nobody wants any. It travels between processes. */
export interface WantedTraffic {
  readonly http: readonly HttpField[]
  readonly tcp: readonly TcpField[]
}

/** Something that happened, for an event; `object` is JSON text. Plain data: it travels between processes. */
export interface TrafficEvent {
  readonly id: string
  readonly type: TrafficType
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

const GATHER_MS = 10
const MAX_WAITING = 10_000

/** Gathers what is told of traffic. Who tells looks first whether anybody wants it, so that nothing is noted in vain. */
export class Traffic {
  readonly #tell: TellTraffic
  #http: Write<SeenRequest> | undefined
  #tcp: Write<SeenConnection> | undefined
  #fingerprints = false
  #waiting: TrafficEvent[] = []
  #dropped = 0
  #telling = false

  constructor(tell: TellTraffic) {
    this.#tell = tell
  }

  want({ http, tcp }: WantedTraffic): void {
    this.#http = http.length === 0 ? undefined : httpWriter(http)
    this.#tcp = tcp.length === 0 ? undefined : tcpWriter(tcp)
    this.#fingerprints = http.includes('ja4_fingerprint') || tcp.includes('ja4_fingerprint')
  }

  get wantsRequests(): boolean {
    return this.#http !== undefined
  }

  get wantsConnections(): boolean {
    return this.#tcp !== undefined
  }

  /** Whether the fingerprints of TLS visitors are worth their cost. */
  get wantsFingerprints(): boolean {
    return this.#fingerprints
  }

  request(seen: SeenRequest): void {
    const object = this.#http?.(seen)
    if (object === undefined) return
    // The id of the request is in the form of every id, so that the event can be found by it and the other way round.
    const id = `ev_${seen.trace.id.slice(3)}`
    this.put({ id, type: 'http_request_complete.v0', at: momentText(wallTime(seen.ended)), object })
  }

  connection(seen: SeenConnection): void {
    const object = this.#tcp?.(seen)
    if (object === undefined) return
    const ended = wallTime(seen.ended)
    const id = newId('ev', Math.floor(ended))
    this.put({ id, type: 'tcp_connection_closed.v0', at: momentText(ended), object })
  }

  put(event: TrafficEvent): void {
    if (this.#waiting.length >= MAX_WAITING) this.#dropped++
    else this.#waiting.push(event)
    if (this.#telling) return
    this.#telling = true
    setTimeout(() => void this.#flush(), GATHER_MS).unref()
  }

  /** Tells what was gathered, without waiting for more; for the end. */
  settle(): Promise<void> {
    return this.#waiting.length + this.#dropped > 0 ? this.#flush() : Promise.resolve()
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
