import { hash } from 'node:crypto'
import type { RowCache } from '#api/change-watch.ts'
import type { Deps, Principal } from '#api/call.ts'
import { childRows } from '#api/records.ts'
import { serialize } from '#api/row-text.ts'
import { inBackground } from '#base/background.ts'
import { newId, newToken, timestamp } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import { sameText, tokenHash } from '#base/secrets.ts'
import { dashboardSession } from '#contract/kinds/dashboard-session.ts'
import { user } from '#contract/kinds/users.ts'
import type { Stored } from '#contract/shape.ts'
import { rowsOf } from '#store/rows-of.ts'
import type { Claim, Row, Write } from '#store/store.ts'

/** More browsers than a user has; further sign-ins end the oldest session. */
const MAX_PER_USER = 20
const MAX_CACHED = 10_000
/** How exactly the latest use is stored. */
const TOUCH_MS = 60_000
const MAX_USER_AGENT = 512
const TOKENS = 'dashboard_token'
const TOKEN = /^[0-9A-Za-z_]{71}$/

type SessionBody = Stored<typeof dashboardSession.shape>
type UserBody = Stored<typeof user.shape>

export interface SessionLimits {
  readonly idleMs: number
  readonly lifetimeMs: number
}

/** A signed-in browser. */
export interface Session {
  readonly principal: Principal
  readonly user: Pick<UserBody, 'id' | 'name' | 'email' | 'role'>
  readonly csrfToken: string
  readonly expiresAt: string
}

interface CachedSession extends Session {
  readonly lastActive: number
}

/** How and from where a user signs in. */
export interface NewSignIn {
  readonly method: SessionBody['method']
  readonly apiKey: string | null
  readonly ip: string
  readonly userAgent: string
}

/** A session that is about to be stored. */
interface NewSession {
  readonly id: string
  readonly token: string
  readonly body: SessionBody
  readonly writes: readonly Write[]
}

interface SessionsOptions extends Pick<Deps, 'store' | 'sealer' | 'now'> {
  readonly limits: SessionLimits
  readonly log: Log
}

/** The kinds that determine whether a session is valid. */
const KINDS = [dashboardSession.name, user.name, 'api_key']

const claimOf = (token_hash: string): Claim => ({ namespace: TOKENS, value: token_hash })

/** Pages can neither read the cookie nor derive this from anything else. */
const csrfTokenOf = (token: string): string => hash('sha256', `csrf ${token}`, 'base64url')

/** Whether a session has expired. The stored time of its latest use may be too early. */
const isOver = (
  { lastActive, expiresAt }: Pick<CachedSession, 'lastActive' | 'expiresAt'>,
  { now, limits }: Pick<SessionsOptions, 'now' | 'limits'>,
): boolean => now() >= Date.parse(expiresAt) || now() - lastActive >= limits.idleMs + TOUCH_MS

/** The dashboard sessions in the store: valid on every server that uses it. */
export class DashboardSessions implements RowCache {
  readonly #options: SessionsOptions
  readonly #cache = new Map<string, CachedSession>()
  readonly #touching = new Set<string>()
  #generation = 0

  constructor(options: SessionsOptions) {
    this.#options = options
  }

  get lifetimeMs(): number {
    return this.#options.limits.lifetimeMs
  }

  invalidate(kind: string | undefined): void {
    if (kind !== undefined && !KINDS.includes(kind)) return
    this.#cache.clear()
    this.#generation++
  }

  /** The session of a token; undefined when it has ended. */
  async find(token: string): Promise<Session | undefined> {
    if (!TOKEN.test(token)) return undefined
    const session = this.#cache.get(token) ?? (await this.#read(token))
    return session && !isOver(session, this.#options) ? session : undefined
  }

  /** Records that a session is used. */
  touch(token: string): void {
    const session = this.#cache.get(token)
    const { now, log } = this.#options
    if (!session || now() - session.lastActive < TOUCH_MS) return
    const { keyId: id } = session.principal
    if (this.#touching.has(id)) return
    this.#touching.add(id)
    const failed = 'recording the use of a dashboard session failed'
    void inBackground({ task: 'sign_in', log, failed }, () => this.#markActive(id)).finally(() =>
      this.#touching.delete(id),
    )
  }

  /** A new session for a user, with the writes that store it and end surplus ones, unless they are `ended` already. */
  async prepare(
    owner: string,
    { method, apiKey, ip, userAgent }: NewSignIn,
    ended: ReadonlySet<string>,
  ): Promise<NewSession> {
    const { now, store, sealer, limits } = this.#options
    const id = newId(dashboardSession.prefix ?? '', now())
    const token = newToken(id)
    const time = timestamp(now())
    const body = {
      id,
      created_at: time,
      owner_id: owner,
      method,
      api_key: apiKey,
      ip,
      user_agent: userAgent.slice(0, MAX_USER_AGENT),
      last_active: time,
      expires_at: timestamp(now() + limits.lifetimeMs),
      token_hash: tokenHash(token),
    } as SessionBody
    const row = {
      id,
      kind: dashboardSession.name,
      parent: owner,
      version: 1,
      body: serialize(dashboardSession, id, { ...body }, { sealer }),
    }
    const earlier = await childRows(dashboardSession.name, owner, { store })
    const surplus = earlier.slice(MAX_PER_USER - 1).filter(each => !ended.has(each.id))
    return {
      id,
      token,
      body,
      writes: [
        ...surplus.map(each => ({ op: 'remove' as const, id: each.id, version: each.version })),
        { op: 'insert', entry: { row, refs: [], claims: [claimOf(body.token_hash)] } },
      ],
    }
  }

  async #read(token: string): Promise<CachedSession | undefined> {
    const generation = this.#generation
    const found = await this.#holder(token)
    if (!found || generation !== this.#generation) return found
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear()
    this.#cache.set(token, found)
    return found
  }

  async #holder(token: string): Promise<CachedSession | undefined> {
    const { store } = this.#options
    const hashed = tokenHash(token)
    const row = await store.holder(claimOf(hashed))
    if (row?.kind !== dashboardSession.name || row.parent === null) return undefined
    const body = JSON.parse(row.body) as SessionBody
    const owner = await store.get(row.parent)
    const hasKey = body.api_key === null || (await store.get(body.api_key)) !== undefined
    if (!sameText(hashed, body.token_hash) || !owner || !hasKey) return undefined
    const person = JSON.parse(owner.body) as UserBody
    return person.active ? sessionOf(row, body, person, token) : undefined
  }

  async #markActive(id: string): Promise<void> {
    const { store, sealer, now } = this.#options
    const row = await store.get(id)
    if (row?.kind !== dashboardSession.name) return
    const body = { ...(JSON.parse(row.body) as SessionBody), last_active: timestamp(now()) }
    const next: Row = {
      ...row,
      version: row.version + 1,
      body: serialize(dashboardSession, id, body, { sealer }),
    }
    // A conflict means that another request did the same, or that the session was ended.
    await store.commit([{ op: 'update', entry: { row: next, refs: [], claims: [claimOf(body.token_hash)] } }])
  }
}

function sessionOf(row: Row, body: SessionBody, person: UserBody, token: string): CachedSession {
  const { id, name, email, role } = person
  return {
    principal: { id, role, subject: email, keyId: row.id },
    user: { id, name, email, role },
    csrfToken: csrfTokenOf(token),
    expiresAt: body.expires_at,
    lastActive: Date.parse(body.last_active),
  }
}

/** Deletes sessions that have ended. */
export async function pruneSessions(
  options: Pick<SessionsOptions, 'store' | 'now' | 'limits'>,
): Promise<void> {
  const { store } = options
  for await (const row of rowsOf(store, dashboardSession.name)) {
    const { last_active: active, expires_at: expiresAt, api_key: key } = JSON.parse(row.body) as SessionBody
    const hasKey = key === null || (await store.get(key)) !== undefined
    if (hasKey && !isOver({ lastActive: Date.parse(active), expiresAt }, options)) continue
    await store.commit([{ op: 'remove', id: row.id, version: row.version }])
  }
}
