import { inBackground } from '#base/background.ts'
import { FairShare } from '#base/fair-share.ts'
import { type Log, silentLog } from '#base/log.ts'
import type { SeenRequest } from '#telemetry/traffic/http-fields.ts'
import {
  endpointOfConnection,
  endpointOfRequest,
  JsonLineBuffer,
  type TrafficPage,
  type WantedTraffic,
} from '#telemetry/traffic/json-line-buffer.ts'
import type { SeenConnection } from '#telemetry/traffic/tcp-fields.ts'

export interface TrafficBatch {
  /** In the order in which they ended. */
  readonly pages: readonly TrafficPage[]
  /** How many events are missing before these: they came too fast. */
  readonly dropped: number
}

export type PublishTraffic = (batch: TrafficBatch) => Promise<void> | void

const GATHER_MS = 25
const MAX_EVENTS = 10_000
const MAX_BYTES = 16_777_216
/** The share of one endpoint while the others are quiet. */
const SHARE = 0.75
const PAGE_BYTES = 131_072
/** Writing events in batches costs less: the code and data stay in the caches. */
const TOGETHER = 64

/** Gathers traffic events. Callers check for subscribers first, so that nothing is recorded without one. */
export class TrafficEvents {
  readonly #publish: PublishTraffic
  readonly #log: Log
  #lines: JsonLineBuffer | undefined
  #wants = { requests: false, connections: false, fingerprints: false }
  /** Not yet serialized. */
  #seen: SeenRequest[] = []
  /** Serialized lines, and their size. */
  #pages: TrafficPage[] = []
  #events = 0
  #bytes = 0
  /** The endpoints of the events since the last batch. */
  readonly #share = new FairShare(MAX_EVENTS, SHARE)
  #dropped = 0
  #publishing = false

  constructor(publish: PublishTraffic, log: Log = silentLog) {
    this.#publish = publish
    this.#log = log
  }

  subscribe(wanted: WantedTraffic): void {
    this.#write()
    this.#turnPage()
    const { http, tcp } = wanted
    const names: readonly string[] = [...http, ...tcp]
    this.#wants = {
      requests: http.length > 0,
      connections: tcp.length > 0,
      fingerprints: names.includes('ja4_fingerprint'),
    }
    this.#lines = names.length === 0 ? undefined : new JsonLineBuffer(wanted)
  }

  get wantsRequests(): boolean {
    return this.#wants.requests
  }

  get wantsConnections(): boolean {
    return this.#wants.connections
  }

  /** Whether TLS fingerprints are needed. */
  get wantsFingerprints(): boolean {
    return this.#wants.fingerprints
  }

  request(seen: SeenRequest): void {
    if (!this.#wants.requests || !this.#hasRoom(endpointOfRequest(seen))) return
    if (this.#seen.push(seen) === TOGETHER) this.#write()
    this.#publishSoon()
  }

  connection(seen: SeenConnection): void {
    if (!this.#wants.connections || !this.#hasRoom(endpointOfConnection(seen))) return
    this.#write()
    this.#lines?.connection(seen)
    this.#publishSoon()
  }

  /** Emits what was gathered, without waiting for more; for the shutdown. */
  settle(): Promise<void> {
    return this.#gathered + this.#dropped > 0 ? this.#flush() : Promise.resolve()
  }

  get #gathered(): number {
    return this.#events + (this.#lines?.count ?? 0) + this.#seen.length
  }

  /** False: it is dropped, and counted. */
  #hasRoom(endpoint: string): boolean {
    // The endpoint with most events leaves some of the memory to the others.
    const isMost = this.#share.held(endpoint) * 2 > this.#share.used
    const hasRoom = this.#bytes < (isMost ? MAX_BYTES * SHARE : MAX_BYTES) && this.#share.take([endpoint])
    if (!hasRoom) {
      this.#dropped++
      this.#publishSoon()
    }
    return hasRoom
  }

  #publishSoon(): void {
    if (this.#publishing) return
    this.#publishing = true
    this.#flushLater()
  }

  #flushLater(): void {
    setTimeout(() => void this.#flush(), GATHER_MS).unref()
  }

  #write(): void {
    const lines = this.#lines
    if (lines === undefined || this.#seen.length === 0) return
    const seen = this.#seen
    // Cleared first: what cannot be serialized must not be retried forever.
    this.#seen = []
    for (const each of seen) {
      lines.request(each)
      if (lines.bytes >= PAGE_BYTES) this.#turnPage()
    }
  }

  #turnPage(): void {
    const lines = this.#lines
    if (lines === undefined || lines.count === 0) return
    const page = lines.take()
    this.#pages.push(page)
    this.#events += page.ends.length
    this.#bytes += page.bytes.length
  }

  /** One batch at a time: a slow reader makes events go missing, not memory grow. */
  async #flush(): Promise<void> {
    await inBackground({ task: 'traffic', log: this.#log }, () => this.#pass())
    this.#publishing = this.#gathered > 0
    if (this.#publishing) this.#flushLater()
  }

  async #pass(): Promise<void> {
    this.#write()
    this.#turnPage()
    const [pages, events, dropped] = [this.#pages, this.#events, this.#dropped]
    this.#pages = []
    this.#events = 0
    this.#bytes = 0
    this.#dropped = 0
    this.#share.clear()
    try {
      await this.#publish({ pages, dropped })
    } catch {
      this.#dropped += events + dropped
    }
  }
}
