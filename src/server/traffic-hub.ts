import { newId } from '#base/ids.ts'
import { trafficFields, type TrafficType } from '#contract/events/traffic-fields.ts'
import { envelope } from '#events/envelope.ts'
import { eventsOf } from '#events/line-event.ts'
import type { Directory, SessionRecord } from '#registry/directory.ts'
import { isFirstLeg } from '#registry/legs.ts'
import { momentText, wallTime } from '#telemetry/traffic/moments.ts'
import type { WantedTraffic } from '#telemetry/traffic/lines.ts'
import type { TrafficBatch } from '#telemetry/traffic.ts'
import { OrderedHold, START, STOP, type Tell } from '#server/ordered-hold.ts'
import { type SessionEnd, sessionText } from '#server/session-events.ts'

type Wanted = ReadonlyMap<string, ReadonlySet<string>>

export interface HubOptions {
  readonly tell: Tell
  readonly accountId: string
  /** The public address of the API, where it is known. */
  readonly apiUrl?: string | undefined
}

/** Between the gateways and the delivery of events: who wants what, and what has happened. */
export class TrafficHub {
  readonly #hold: OrderedHold
  readonly #followers = new Set<(wanted: WantedTraffic) => void>()
  readonly #options: HubOptions
  #wanted: Wanted = new Map()

  constructor(options: HubOptions) {
    this.#hold = new OrderedHold(options.tell, () => momentText(now()))
    this.#options = options
  }

  /** What gateways must tell of. */
  get wanted(): WantedTraffic {
    return {
      accountId: this.#options.accountId,
      http: wantedOf(this.#wanted, 'http_request_complete.v0'),
      tcp: wantedOf(this.#wanted, 'tcp_connection_closed.v0'),
    }
  }

  /** Types of events, and the fields that somebody needs of those that have fields to choose from. */
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

  /** Tells what is held back for the sake of its order; for the end. */
  flush(): void {
    this.#hold.flush()
  }

  /** Tells of the agents that come and go. An agent has several connections, of which the first stands for all. */
  watch(directory: Directory): void {
    const online = new Set<string>()
    directory.watch({
      sessionAdded: session => {
        // One that is replaced has not gone.
        if (!isFirstLeg(session) || online.has(session.id)) return
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

/** By the clock that gateways take the moments of visitors from; the system's own may be set meanwhile. */
const now = (): number => wallTime(performance.now())

/** In the order in which they are declared; names that are not are nobody's. */
function wantedOf<Type extends TrafficType>(
  wanted: Wanted,
  type: Type,
): (keyof (typeof trafficFields)[Type])[] {
  const names = wanted.get(type)
  const all = Object.keys(trafficFields[type]) as (keyof (typeof trafficFields)[Type] & string)[]
  return names === undefined ? [] : all.filter(name => names.has(name))
}
