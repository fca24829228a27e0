import { capture } from '#contract/kinds/capture.ts'
import type { RouteInfo } from '#http/request-context.ts'
import type { Records } from '#registry/records/records.ts'
import type { RowOf } from '#registry/records/source.ts'

interface Rule {
  /** Undefined: of any owner. */
  readonly ownerId: string | undefined
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Later than any capture lasts, and within what a timer can wait. */
const MAX_WAIT_MS = 3_600_000

/** The captures that are on, by what they name. */
export class CaptureRules {
  readonly #records: Records
  readonly #changed: (isEmpty: boolean) => void
  readonly #stop: () => void
  #rules: ReadonlyMap<string, readonly Rule[]> = new Map()
  #timer: NodeJS.Timeout | undefined

  /** `changed` is called at once, and whenever rules begin or end. */
  constructor(records: Records, changed: (isEmpty: boolean) => void) {
    this.#records = records
    this.#changed = changed
    this.#stop = records.onAnyChange(({ kind }) => {
      if (kind === capture.name) this.#load()
    })
    this.#load()
  }

  close(): void {
    this.#stop()
    clearTimeout(this.#timer)
  }

  /** Whether a request is captured. */
  includes(host: string, { edgeId, routeId, ownerId = '' }: RouteInfo): boolean {
    const now = Date.now()
    const isMet = (name: string | undefined): boolean =>
      name !== undefined &&
      this.#rules.get(name)?.some(rule => rule.expiresAt > now && (rule.ownerId ?? ownerId) === ownerId) ===
        true
    return isMet(`host ${host}`) || isMet(edgeId) || isMet(routeId)
  }

  #load(): void {
    const now = Date.now()
    const current = [...this.#records.all(capture)].flatMap(row => ruleOf(row) ?? [])
    const live = current.filter(({ rule }) => rule.expiresAt > now)
    this.#rules = new Map(
      [...Map.groupBy(live, ({ name }) => name)].map(([name, all]) => [name, all.map(({ rule }) => rule)]),
    )
    clearTimeout(this.#timer)
    const next = Math.min(...live.map(({ rule }) => rule.expiresAt - now), MAX_WAIT_MS)
    if (live.length > 0) this.#timer = setTimeout(() => this.#load(), next + 1).unref()
    this.#changed(live.length === 0)
  }
}

const isText = (value: unknown): boolean => value === null || ['string', 'undefined'].includes(typeof value)

function ruleOf({ body }: RowOf<typeof capture>): { name: string; rule: Rule } | undefined {
  // A field of a damaged row may have any type, and must not keep the others from being loaded.
  if (![body.host, body.route_id, body.edge_id, body.expires_at].every(isText)) return undefined
  const name = body.host ? `host ${body.host}` : (body.route_id ?? body.edge_id)
  if (!name) return undefined
  const ownerId = body.scope === 'any' ? undefined : (body.owner_id ?? '')
  return { name, rule: { ownerId, expiresAt: Date.parse(body.expires_at ?? '') } }
}
