import { createHash } from 'node:crypto'
import { childRows } from '#api/records.ts'
import { serialize } from '#api/row-text.ts'
import { inBackground } from '#base/background.ts'
import { newId, randomPart, timestamp } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import type { Sealer } from '#base/secrets.ts'
import type { ResourceBody } from '#contract/body.ts'
import { applicationSession, applicationUser } from '#contract/kinds/application.ts'
import type { Kind } from '#contract/kind.ts'
import { type Claimed, type CodeClaim, CodeClaims } from '#auth/sign-in/code-claims.ts'
import type { SignedInUser, UserSessionStore } from '#auth/sign-in/user-session-store.ts'
import { userAgentOf } from '#server/user-agent.ts'
import { CONFLICT, retryOnConflict } from '#store/optimistic.ts'
import { rowsOf } from '#store/rows-of.ts'
import type { Claim, Row, Store, Write } from '#store/store.ts'

const USERS = 'application_user'
/** More browsers than any user has; a script that keeps signing in evicts its own old sessions. */
const MAX_SESSIONS = 100
const MAX_MARKING = 1000

interface UserSessionsOptions {
  readonly store: Store
  readonly sealer: Sealer
  readonly log: Log
  readonly now?: () => number
}

/** Records sign-ins to endpoints. */
export class UserSessions implements UserSessionStore {
  readonly #store: Store
  readonly #sealer: Sealer
  readonly #log: Log
  readonly #now: () => number
  readonly #marking = new Set<string>()
  readonly #codes: CodeClaims

  constructor({ store, sealer, log, now = Date.now }: UserSessionsOptions) {
    this.#store = store
    this.#sealer = sealer
    this.#log = log
    this.#now = now
    this.#codes = new CodeClaims(now)
  }

  signedIn(signedIn: SignedInUser): Promise<{ userId: string; sessionId: string }> {
    const attempt = async (): Promise<{ userId: string; sessionId: string } | typeof CONFLICT> => {
      const claim = claimOf(signedIn)
      const known = await this.#store.holder(claim)
      const user = this.#user(signedIn, known)
      const session = this.#session(signedIn, user.id)
      const batch: Write[] = [
        { op: known ? 'update' : 'insert', entry: { row: user, refs: [], claims: [claim] } },
        ...(known ? await this.#surplus(known.id) : []),
        { op: 'insert', entry: { row: session, refs: [], claims: [] } },
      ]
      const outcome = await this.#store.commit(batch)
      // Otherwise the same user was written or deleted concurrently.
      return outcome.ok ? { userId: user.id, sessionId: session.id } : CONFLICT
    }
    return retryOnConflict(attempt, () => {
      throw new Error('A sign-in could not be saved: its user changes all the time.')
    })
  }

  active(sessionId: string, expiresAt: number): void {
    // It is reported again in a minute; pending writes need not pile up.
    if (this.#marking.has(sessionId) || this.#marking.size >= MAX_MARKING) return
    this.#marking.add(sessionId)
    const failed = 'recording the use of a session failed'
    const background = { task: 'sign_in', log: this.#log, failed, about: { sessionId } } as const
    void inBackground(background, () => this.#mark(sessionId, expiresAt)).then(() =>
      this.#marking.delete(sessionId),
    )
  }

  ended(sessionId: string): Promise<void> {
    const attempt = async (): Promise<void | typeof CONFLICT> => {
      const row = await this.#store.get(sessionId)
      if (row?.kind !== applicationSession.name) return undefined
      const { ok } = await this.#store.commit([{ op: 'remove', id: row.id, version: row.version }])
      return ok ? undefined : CONFLICT
    }
    return retryOnConflict(attempt, () => undefined)
  }

  async claimCode(claim: CodeClaim): Promise<Claimed> {
    return this.#codes.claim(claim)
  }

  /** Deletes expired sessions. */
  async prune(): Promise<void> {
    const time = timestamp(this.#now())
    for await (const row of rowsOf(this.#store, applicationSession.name)) {
      // Times of one form compare like strings.
      if (String(bodyOf(row)['expires_at']) < time)
        await this.#store.commit([{ op: 'remove', id: row.id, version: row.version }])
    }
  }

  #user({ identity, provider }: SignedInUser, known: Row | undefined): Row {
    const time = timestamp(this.#now())
    const id = known?.id ?? newId(applicationUser.prefix ?? '', this.#now())
    const body = {
      id,
      created_at: known ? bodyOf(known)['created_at'] : time,
      identity_provider: { name: provider.name, url: provider.url },
      provider_user_id: identity.id,
      username: identity.username,
      email: identity.email,
      name: identity.name,
      last_active: time,
      last_login: time,
    }
    return this.#row(applicationUser, { id, parent: null, version: (known?.version ?? 0) + 1, body })
  }

  #session(signedIn: SignedInUser, userId: string): Row {
    const { moduleContext, publicUrl, ip, userAgent, expiresAt } = signedIn
    const time = timestamp(this.#now())
    const id = newId(applicationSession.prefix ?? '', this.#now())
    const body = {
      id,
      created_at: time,
      public_url: publicUrl,
      browser_session: { user_agent: userAgentOf(userAgent), ip_address: ip, location: null },
      application_user: userId,
      last_active: time,
      expires_at: timestamp(expiresAt),
      // A tunnel and its endpoint share the rest of their ids.
      endpoint: moduleContext.id.startsWith('tn_') ? `ep_${randomPart(moduleContext.id)}` : null,
      edge: moduleContext.edgeId ?? null,
      route: moduleContext.id.startsWith('edghtsrt_') ? moduleContext.id : null,
    }
    return this.#row(applicationSession, { id, parent: userId, version: 1, body })
  }

  /** The oldest sessions beyond the limit. */
  async #surplus(userId: string): Promise<Write[]> {
    const rows = await childRows(applicationSession.name, userId, { store: this.#store })
    return rows.slice(MAX_SESSIONS - 1).map(({ id, version }) => ({ op: 'remove', id, version }))
  }

  async #mark(sessionId: string, expiresAt: number): Promise<void> {
    const time = timestamp(this.#now())
    const changes = { last_active: time, expires_at: timestamp(expiresAt) }
    const session = await this.#change(applicationSession, sessionId, changes)
    if (session?.parent) await this.#change(applicationUser, session.parent, { last_active: time })
  }

  #change(kind: Kind, id: string, changes: ResourceBody): Promise<Row | undefined> {
    const attempt = async (): Promise<Row | undefined | typeof CONFLICT> => {
      const row = await this.#store.get(id)
      if (row?.kind !== kind.name) return undefined
      const body = bodyOf(row)
      const next = this.#row(kind, { ...row, version: row.version + 1, body: { ...body, ...changes } })
      const claims = kind === applicationUser ? [claimOfBody(body)] : []
      const outcome = await this.#store.commit([{ op: 'update', entry: { row: next, refs: [], claims } }])
      return outcome.ok ? next : CONFLICT
    }
    return retryOnConflict(attempt, () => undefined)
  }

  #row(kind: Kind, { body, ...rest }: Pick<Row, 'id' | 'parent' | 'version'> & { body: ResourceBody }): Row {
    const { id, parent, version } = rest
    return { id, kind: kind.name, parent, version, body: serialize(kind, id, body, { sealer: this.#sealer }) }
  }
}

const bodyOf = (row: Row): ResourceBody => JSON.parse(row.body) as ResourceBody

/** A user is one id at one provider, at any endpoint. */
const claimOf = ({ provider, identity }: SignedInUser): Claim =>
  userClaim(provider.name, provider.url, identity.id)

function claimOfBody(body: ResourceBody): Claim {
  const { name, url } = body['identity_provider'] as { name: string; url: string }
  return userClaim(name, url, String(body['provider_user_id']))
}

/** Provider ids may be longer than a claim. */
const userClaim = (...parts: readonly string[]): Claim => ({
  namespace: USERS,
  value: createHash('sha256').update(JSON.stringify(parts)).digest('hex'),
})
