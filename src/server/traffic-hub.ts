import { newId } from '#base/ids.ts'
import type { Directory, SessionRecord } from '#gateway/directory.ts'
import { isFirstLeg } from '#gateway/legs.ts'
import type { TrafficBatch, WantedTraffic } from '#gateway/traffic.ts'

interface Told {
  readonly id: string
  readonly type: string
  readonly at: string
  readonly object: string
}

type Tell = (events: readonly Told[], dropped: number) => void

const START = 'agent_session_start.v0'
const STOP = 'agent_session_stop.v0'

/** Between the gateways and the delivery of events: who wants what, and what has happened. */
export class TrafficHub {
  readonly #tell: Tell
  readonly #followers = new Set<(wanted: WantedTraffic) => void>()
  #types: ReadonlySet<string> = new Set()

  constructor(tell: Tell) {
    this.#tell = tell
  }

  /** What gateways must tell of. */
  get wanted(): WantedTraffic {
    return {
      http: this.#types.has('http_request_complete.v0'),
      tcp: this.#types.has('tcp_connection_closed.v0'),
    }
  }

  want(types: ReadonlySet<string>): void {
    this.#types = types
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
      sessionRemoved: session => {
        if (online.delete(session.id)) this.#session(STOP, session)
      },
    })
  }

  #session(type: typeof START | typeof STOP, session: SessionRecord): void {
    if (!this.#types.has(type)) return
    const now = Date.now()
    const at = new Date(now).toISOString()
    const object = JSON.stringify({
      id: session.id,
      credential: { id: session.credentialId },
      agent_ip: session.ip,
      region: session.region,
      user_agent: session.agentVersion,
      metadata: session.metadata,
      os: session.os,
      transport: session.transport,
      started_at: session.startedAt,
      stopped_at: type === STOP ? at : null,
    })
    this.#tell([{ id: newId('ev', now), type, at, object }], 0)
  }
}
