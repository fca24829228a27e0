import { newId } from '#base/ids.ts'
import { trafficFields, type TrafficType } from '#contract/events/traffic-fields.ts'
import { envelope } from '#events/envelope.ts'
import { eventsOf } from '#events/line-event.ts'
import type { Directory, SessionRecord } from '#registry/directory.ts'
import { isPrimary } from '#registry/agent-connections.ts'
import { wallTime } from '#base/wall-time.ts'
import { rfc3339 } from '#telemetry/traffic/time.ts'
import type { WantedTraffic } from '#telemetry/traffic/json-line-buffer.ts'
import type { TrafficBatch } from '#telemetry/traffic-events.ts'
import { ReorderBuffer, START, STOP, type PublishEvents } from '#server/reorder-buffer.ts'
import { type AgentSessionEnd, sessionText } from '#server/session-events.ts'

type WantedFields = ReadonlyMap<string, ReadonlySet<string>>

interface TrafficBrokerOptions {
  readonly publish: PublishEvents
  readonly accountId: string
  /** The public URL of the API, if known. */
  readonly apiUrl?: string | undefined
}

/** Connects gateways and event delivery: subscribed fields in one direction, events in the other. */
export class TrafficBroker {
  readonly #reordered: ReorderBuffer
  readonly #followers = new Set<(wanted: WantedTraffic) => void>()
  readonly #options: TrafficBrokerOptions
  #wanted: WantedFields = new Map()

  constructor(options: TrafficBrokerOptions) {
    this.#reordered = new ReorderBuffer(options.publish, () => rfc3339(now()))
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
  subscribe(wanted: WantedFields): void {
    this.#wanted = wanted
    for (const follower of this.#followers) follower(this.wanted)
  }

  /** Calls back at once, and whenever it changes. */
  onSubscriptionChange(follower: (wanted: WantedTraffic) => void): void {
    this.#followers.add(follower)
    follower(this.wanted)
  }

  publish({ pages, dropped }: TrafficBatch): void {
    this.#reordered.publish(pages.flatMap(eventsOf), dropped)
  }

  /** Emits held events; for the shutdown. */
  flush(): void {
    this.#reordered.flush()
  }

  /** Reports agents that connect and disconnect. The first connection of an agent represents all. */
  watchSessions(directory: Pick<Directory, 'watch'>, reported: Iterable<SessionRecord> = []): void {
    const online = new Set([...reported].filter(isPrimary).map(({ id }) => id))
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
    const at = rfc3339(moment)
    const end: AgentSessionEnd | undefined = type === STOP ? { at, error } : undefined
    const { accountId, apiUrl } = this.#options
    const object = sessionText(session, apiUrl, end)
    this.#reordered.add(envelope({ id: newId('ev', Math.floor(moment)), type, at, object }, accountId))
  }
}

/** By the clock of gateway events; the system clock may be changed meanwhile. */
const now = (): number => wallTime(performance.now())

/** In declaration order; unknown names are dropped. */
function wantedOf<Type extends TrafficType>(
  wanted: WantedFields,
  type: Type,
): (keyof (typeof trafficFields)[Type])[] {
  const names = wanted.get(type)
  const all = Object.keys(trafficFields[type]) as (keyof (typeof trafficFields)[Type] & string)[]
  return names === undefined ? [] : all.filter(name => names.has(name))
}
