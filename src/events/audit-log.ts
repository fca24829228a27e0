import { lowestId } from '#base/ids.ts'
import type { EventRecord, Store } from '#store/store.ts'

type EventObject = Record<string, unknown>

/** List filters. */
interface AuditFilters {
  /** Id, e-mail address or name. */
  readonly principal?: string
  readonly type?: string
  readonly object_id?: string
  readonly ip?: string
  /** RFC 3339. */
  readonly since?: string
  readonly until?: string
}

interface AuditPage {
  readonly before?: string
  readonly limit: number
  readonly filters?: AuditFilters
}

interface Envelope {
  readonly principal?: Readonly<Record<string, unknown>> | null
  readonly object?: Readonly<Record<string, unknown>>
}

const CHUNK = 500
/** A request examines no more than these: searching for rare events must not keep the server busy. */
const MOST_READ = 5000
const SECOND_MS = 1000

/** The recorded changes, from the outbox. */
export class AuditLog {
  readonly #store: Pick<Store, 'event' | 'newestEvents'>

  constructor(store: Pick<Store, 'event' | 'newestEvents'>) {
    this.#store = store
  }

  async get(id: string): Promise<EventObject | undefined> {
    const event = await this.#store.event(id)
    return event && shown(event)
  }

  /** Newest first. `last` is set when there may be more behind it that was not examined. */
  async list({ before, limit, filters = {} }: AuditPage): Promise<{ found: EventObject[]; last?: string }> {
    const found: EventObject[] = []
    let from = earlier(before, filters.until)
    for (let read = 0; read < MOST_READ; read += CHUNK) {
      const events = await this.#store.newestEvents({
        limit: CHUNK,
        ...(from !== undefined && { before: from }),
      })
      for (const event of events) {
        if (isBefore(event, filters.since)) return { found }
        if (matches(event, filters)) found.push(shown(event))
        if (found.length === limit) return { found }
      }
      from = events.at(-1)?.id
      if (from === undefined || events.length < CHUNK) return { found }
    }
    return { found, ...(from !== undefined && { last: from }) }
  }
}

/** Ids contain their second, so later ones need not be read. */
function earlier(before: string | undefined, until: string | undefined): string | undefined {
  if (until === undefined) return before
  const bound = lowestId('ev', Date.parse(until) + 2 * SECOND_MS)
  return before === undefined || bound < before ? bound : before
}

/** Ids are time-ordered, but not to the last second. */
const isBefore = ({ at }: EventRecord, since: string | undefined): boolean =>
  since !== undefined && Date.parse(at) < Date.parse(since) - 2 * SECOND_MS

function matches(event: EventRecord, filters: AuditFilters): boolean {
  const { principal, type, object_id: objectId, ip, since, until } = filters
  const at = Date.parse(event.at)
  if (type !== undefined && event.type !== type) return false
  if (since !== undefined && at < Date.parse(since)) return false
  if (until !== undefined && at >= Date.parse(until)) return false
  if (principal === undefined && objectId === undefined && ip === undefined) return true
  const { principal: who, object } = JSON.parse(event.body) as Envelope
  if (principal !== undefined && who?.['id'] !== principal && who?.['subject'] !== principal) return false
  if (objectId !== undefined && object?.['id'] !== objectId) return false
  return ip === undefined || who?.['ip'] === ip
}

function shown({ id, type, at, body }: EventRecord): EventObject {
  const { principal, object } = JSON.parse(body) as Envelope
  return {
    id,
    type,
    occurred_at: at,
    principal: principal ? { ip: null, ...principal } : null,
    object: object ?? {},
  }
}
