import { newId } from '#base/ids.ts'
import { trafficFields, type TrafficType } from '#contract/events/traffic-fields.ts'
import type { Directory, SessionRecord } from '#gateway/directory.ts'
import { isFirstLeg } from '#gateway/legs.ts'
import type { TrafficBatch, WantedTraffic } from '#gateway/traffic.ts'
import { type SessionEnd, sessionText } from '#server/session-events.ts'

interface Told {
  readonly id: string
  readonly type: string
  readonly at: string
  readonly object: string
}

type Wanted = ReadonlyMap<string, ReadonlySet<string>>
type Tell = (events: readonly Told[], dropped: number) => void

const START = 'agent_session_start.v0'
const STOP = 'agent_session_stop.v0'

/** Between the gateways and the delivery of events: who wants what, and what has happened. */
export class TrafficHub {
  readonly #tell: Tell
  readonly #followers = new Set<(wanted: WantedTraffic) => void>()
  readonly #apiUrl: string | undefined
  #wanted: Wanted = new Map()

  /** `apiUrl` is the public address of the API, where it is known. */
  constructor(tell: Tell, apiUrl?: string) {
    this.#tell = tell
    this.#apiUrl = apiUrl
  }

  /** What gateways must tell of. */
  get wanted(): WantedTraffic {
    return {
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

  tell({ events, dropped }: TrafficBatch): void {
    this.#tell(events, dropped)
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
    const now = Date.now()
    const at = new Date(now).toISOString()
    const end: SessionEnd | undefined = type === STOP ? { at, error } : undefined
    const object = sessionText(session, this.#apiUrl, end)
    this.#tell([{ id: newId('ev', now), type, at, object }], 0)
  }
}

/** In the order in which they are declared; names that are not are nobody's. */
function wantedOf<Type extends TrafficType>(
  wanted: Wanted,
  type: Type,
): (keyof (typeof trafficFields)[Type])[] {
  const names = wanted.get(type)
  const all = Object.keys(trafficFields[type]) as (keyof (typeof trafficFields)[Type] & string)[]
  return names === undefined ? [] : all.filter(name => names.has(name))
}
