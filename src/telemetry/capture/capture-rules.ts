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

interface NamedRule {
  readonly name: string
  /** Otherwise it is an id. */
  readonly isHost: boolean
  readonly rule: Rule
}

type RuleMap = ReadonlyMap<string, readonly Rule[]>

/** Later than any capture lasts, and within what a timer can wait. */
const MAX_WAIT_MS = 3_600_000

/** The captures that are on, by what they name. */
export class CaptureRules {
  readonly #records: Records
  readonly #changed: (isEmpty: boolean) => void
  readonly #stop: () => void
  /** Of host names. Apart from ids, so that a request needs no text made of its host. */
  #ofHosts: RuleMap = new Map()
  /** Of edges and routes. */
  #ofIds: RuleMap = new Map()
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
    return (
      applies(this.#ofHosts.get(host), ownerId) ||
      (edgeId !== undefined && applies(this.#ofIds.get(edgeId), ownerId)) ||
      (routeId !== undefined && applies(this.#ofIds.get(routeId), ownerId))
    )
  }

  #load(): void {
    const now = Date.now()
    const current = [...this.#records.all(capture)].flatMap(row => ruleOf(row) ?? [])
    const live = current.filter(({ rule }) => rule.expiresAt > now)
    this.#ofHosts = byName(live.filter(({ isHost }) => isHost))
    this.#ofIds = byName(live.filter(({ isHost }) => !isHost))
    clearTimeout(this.#timer)
    const next = Math.min(...live.map(({ rule }) => rule.expiresAt - now), MAX_WAIT_MS)
    if (live.length > 0) this.#timer = setTimeout(() => this.#load(), next + 1).unref()
    this.#changed(live.length === 0)
  }
}

const isText = (value: unknown): boolean => value === null || ['string', 'undefined'].includes(typeof value)

function applies(rules: readonly Rule[] | undefined, ownerId: string): boolean {
  if (rules === undefined) return false
  const now = Date.now()
  return rules.some(rule => rule.expiresAt > now && (rule.ownerId ?? ownerId) === ownerId)
}

const byName = (rules: readonly NamedRule[]): RuleMap =>
  new Map(
    [...Map.groupBy(rules, ({ name }) => name)].map(([name, all]) => [name, all.map(({ rule }) => rule)]),
  )

function ruleOf({ body }: RowOf<typeof capture>): NamedRule | undefined {
  // A field of a damaged row may have any type, and must not keep the others from being loaded.
  if (![body.host, body.route_id, body.edge_id, body.expires_at].every(isText)) return undefined
  const name = body.host || (body.route_id ?? body.edge_id)
  if (!name) return undefined
  const ownerId = body.scope === 'any' ? undefined : (body.owner_id ?? '')
  return { name, isHost: Boolean(body.host), rule: { ownerId, expiresAt: Date.parse(body.expires_at ?? '') } }
}
