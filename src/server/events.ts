import type { LiveList } from '#api/live.ts'
import { createEgress } from '#base/egress-client.ts'
import { fail } from '#base/errors.ts'
import type { Log } from '#base/log.ts'
import type { Sealer } from '#base/secrets.ts'
import type { Settings } from '#base/settings.ts'
import { AuditLog } from '#events/audit-log.ts'
import type { DeliveryTimings } from '#events/backoff.ts'
import type { DeliveryStatus, DeliveryFilter } from '#events/delivery-status.ts'
import { DeliveryError } from '#events/destination.ts'
import { buildDestination } from '#events/destinations/index.ts'
import { EventEngine } from '#events/engine.ts'
import { pageByIdDesc } from '#base/page-by-id.ts'
import type { LivePart } from '#server/combined-live.ts'
import type { PublishEvents } from '#server/reorder-buffer.ts'
import { TrafficBroker } from '#server/traffic-broker.ts'
import type { Store } from '#store/store.ts'

interface EventsOptions {
  readonly settings: Settings
  readonly store: Store
  readonly sealer: Sealer
  readonly accountId: string
  readonly log: Log
  readonly now: () => number
  /** True while another process uses the same SQLite database. */
  readonly isShared?: () => boolean
  readonly timings?: Partial<DeliveryTimings>
}

/** Events for the rest of the server. */
export interface EventsHandle {
  /** Receives events from gateways. */
  readonly traffic: TrafficBroker
  /** Audit events and delivery states. */
  readonly live: LivePart
  start(): Promise<void>
  metrics(): string
  /** Events up to this number are delivered. */
  needed(): Promise<number>
  close(): Promise<void>
}

/** The delivery of events, once it is started. */
export function openEvents(options: EventsOptions): EventsHandle {
  const { settings, store, sealer, accountId, log, now, isShared, timings } = options
  const egress = createEgress({ allow: settings.egress_allow ?? [] })
  const parts = { egress, dataDir: settings.data_dir, log, now, endpoints: settings.event_endpoints ?? {} }
  const publish: PublishEvents = (events, dropped) => engine.publish(events, dropped)
  const traffic = new TrafficBroker({ publish, accountId, apiUrl: settings.api_url })
  const engine: EventEngine = new EventEngine({
    store,
    sealer,
    accountId,
    log,
    now,
    build: target => buildDestination(target, parts),
    // Two processes share a SQLite database only during a replacement.
    get alone() {
      return settings.database_url === undefined && isShared?.() !== true
    },
    onWanted: wanted => traffic.subscribe(wanted),
    ...(timings && { timings }),
  })
  return {
    traffic,
    live: livePart(engine, new AuditLog(store)),
    start: () => engine.start(),
    metrics: () => engine.metrics(),
    needed: () => engine.needed(),
    close: () => {
      traffic.flush()
      return engine.close()
    },
  }
}

function livePart(engine: EventEngine, audit: AuditLog): LivePart {
  const deliveries = async (only?: DeliveryFilter) => (await engine.deliveries(only)).map(shownDelivery)
  return {
    sources: {
      audit_event: {
        get: id => audit.get(id),
        list: async page => {
          const { found, last } = await audit.list(page)
          return Object.assign<LiveList, Pick<LiveList, 'last'>>(found, last === undefined ? {} : { last })
        },
      },
      event_delivery: {
        get: async id => (await deliveries({ id }))[0],
        list: async page => pageByIdDesc(await deliveries(page.filters), ({ id }) => id, page),
      },
    },
    commands: {
      test: id => sendTest(engine, id),
      replay: async id => {
        if (!(await engine.replay(id))) fail('not_found')
      },
    },
  }
}

const shownDelivery = ({
  subscription_id: subscription,
  destination_id: destination,
  ...state
}: DeliveryStatus) => ({ subscription, destination, ...state })

async function sendTest(engine: EventEngine, destinationId: string): Promise<void> {
  try {
    await engine.test(destinationId)
  } catch (error) {
    if (!(error instanceof DeliveryError)) throw error
    const isRefused = error.permanent || error.misconfigured
    fail(isRefused ? 'test_refused' : 'test_failed', { reason: error.message })
  }
}
