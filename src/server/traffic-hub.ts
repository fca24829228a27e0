import { newId } from '#base/ids.ts'
import { trafficFields, type TrafficType } from '#contract/events/traffic-fields.ts'
import { envelope } from '#events/envelope.ts'
import { eventsOf } from '#events/line-event.ts'
import type { Directory, SessionRecord } from '#registry/directory.ts'
import { isPrimary } from '#registry/agent-connections.ts'
import { momentText, wallTime } from '#telemetry/traffic/moments.ts'
import type { WantedTraffic } from '#telemetry/traffic/lines.ts'
import type { TrafficBatch } from '#telemetry/traffic.ts'
import { OrderedHold, START, STOP, type Tell } from '#server/ordered-hold.ts'
import { type SessionEnd, sessionText } from '#server/session-events.ts'

type Wanted = ReadonlyMap<string, ReadonlySet<string>>

export interface HubOptions {
  readonly tell: Tell
  readonly accountId: string
  /** The public URL of the API, if known. */
  readonly apiUrl?: string | undefined
}

/** Connects gateways and event delivery: subscribed fields in one direction, events in the other. */
export class TrafficHub {
  readonly #hold: OrderedHold
  readonly #followers = new Set<(wanted: WantedTraffic) => void>()
  readonly #options: HubOptions
  #wanted: Wanted = new Map()

  constructor(options: HubOptions) {
    this.#hold = new OrderedHold(options.tell, () => momentText(now()))
    this.#options = options
  }

  /** What gateways must report. */
  get wanted(): WantedTraffic {
    return {
      accountId: this.#options.accountId,
      http: wantedOf(this.#wanted, 'http_request_complete.v0'),
      tcp: wantedOf(this.#wanted, 'tcp_connection_closed.v0'),
    }
  }

  /** Event types, and the needed fields of those with selectable fields. */
  want(wanted: Wanted): void {
    this.#wanted = wanted
    for (const follower of this.#followers) follower(this.wanted)
  }

  /** Calls back at once, and whenever it changes. */
  follow(follower: (wanted: WantedTraffic) => void): void {
    this.#followers.add(follower)
    follower(this.wanted)
  }

  tell({ pages, dropped }: TrafficBatch): void {
    this.#hold.pass(pages.flatMap(eventsOf), dropped)
  }

  /** Emits held events; for the shutdown. */
  flush(): void {
    this.#hold.flush()
  }

  /** Reports agents that connect and disconnect. The first connection of an agent stands for all. */
  watch(directory: Directory): void {
    const online = new Set<string>()
    directory.watch({
      sessionAdded: session => {
        // A replaced session has not ended.
        if (!isPrimary(session) || online.has(session.id)) return
        online.add(session.id)
        this.#session(START, session)
      },
      sessionRemoved: (session, error) => {
        if (online.delete(session.id)) this.#session(STOP, session, error)
      },
    })
  }

  #session(type: typeof START | typeof STOP, session: SessionRecord, error?: string): void {
    if (!this.#wanted.has(type)) return
    const moment = now()
    const at = momentText(moment)
    const end: SessionEnd | undefined = type === STOP ? { at, error } : undefined
    const { accountId, apiUrl } = this.#options
    const object = sessionText(session, apiUrl, end)
    this.#hold.hold(envelope({ id: newId('ev', Math.floor(moment)), type, at, object }, accountId))
  }
}

/** By the clock of gateway events; the system clock may be changed meanwhile. */
const now = (): number => wallTime(performance.now())

/** In declaration order; unknown names are dropped. */
function wantedOf<Type extends TrafficType>(
  wanted: Wanted,
  type: Type,
): (keyof (typeof trafficFields)[Type])[] {
  const names = wanted.get(type)
  const all = Object.keys(trafficFields[type]) as (keyof (typeof trafficFields)[Type] & string)[]
  return names === undefined ? [] : all.filter(name => names.has(name))
}
