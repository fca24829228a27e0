import type { Call, Deps, Principal } from '#api/call.ts'
import { PasswordAttempts } from '#api/dashboard/password-attempts.ts'
import { findLink } from '#api/dashboard/links.ts'
import { isPassword, passwordHash } from '#api/dashboard/password-hash.ts'
import { passwordWrite, storedHash } from '#api/dashboard/password-rows.ts'
import { requireGoodPassword } from '#api/dashboard/password-rules.ts'
import { RejectedSignIns } from '#api/dashboard/rejected-sign-ins.ts'
import type { DashboardSessions, NewSignIn, Session } from '#api/dashboard/sessions.ts'
import { eventOf } from '#api/events.ts'
import { childRows } from '#api/records.ts'
import { fail } from '#base/errors.ts'
import type { Log } from '#base/log.ts'
import { dashboardSession } from '#contract/kinds/dashboard-session.ts'
import { user } from '#contract/kinds/users.ts'
import type { Stored } from '#contract/shape.ts'
import { CONFLICT, retryOnConflict } from '#store/optimistic.ts'
import type { Row, Write } from '#store/store.ts'

type UserBody = Stored<typeof user.shape>

/** The browser that signs in. */
export interface BrowserClient extends Pick<NewSignIn, 'ip' | 'userAgent'> {
  /** The base URL under which it reaches the API. */
  readonly base: string
}

interface SignInsOptions extends Deps {
  readonly sessions: DashboardSessions
  readonly log: Log
}

const removal = ({ id, version }: Row): Write => ({ op: 'remove', id, version })

const bodyOf = (row: Row): UserBody => JSON.parse(row.body) as UserBody

/** Starts sessions; each method resolves to the session's token. */
export class SignIns {
  readonly #options: SignInsOptions
  readonly #rejected: RejectedSignIns
  readonly #attempts: PasswordAttempts

  constructor(options: SignInsOptions) {
    this.#options = options
    this.#rejected = new RejectedSignIns(options)
    this.#attempts = new PasswordAttempts(options.now)
  }

  /** Of two requests with the same link, one succeeds. */
  withLink(token: string, client: BrowserClient): Promise<string> {
    return retryOnConflict(
      async () => {
        const { link, owner } = await this.#usable(token, 'sign_in', client)
        const signIn = { ...client, method: 'link', apiKey: link.apiKey } as const
        return this.#start(owner, signIn, [removal(link.row)])
      },
      () => fail('conflict'),
    )
  }

  /** Takes as long for unknown users as for wrong passwords. */
  async withPassword(given: { email: string; password: string }, client: BrowserClient): Promise<string> {
    const { store } = this.#options
    const email = given.email.toLowerCase()
    this.#attempts.require(email, client.ip)
    const row = await store.holder({ namespace: 'user_email', value: email })
    const hash = row && (await storedHash(row.id, store))
    const isRight = await isPassword(given.password, hash)
    if (!row || !isRight || !bodyOf(row).active) {
      this.#attempts.failed(email, client.ip)
      const known = row && { user: { id: row.id, email } }
      await this.#rejected.record({ method: 'password', reason: 'wrong password', client, ...known })
      return fail('sign_in_rejected')
    }
    this.#attempts.succeeded(email, client.ip)
    return retryOnConflict(
      () => this.#start(row, { ...client, method: 'password', apiKey: null }, []),
      () => fail('conflict'),
    )
  }

  /** Sets the password of the invited user, and ends the sessions that the user had. */
  async withInvitation(given: { token: string; password: string }, client: BrowserClient): Promise<string> {
    const invited = await this.#usable(given.token, 'invitation', client)
    requireGoodPassword(given.password, bodyOf(invited.owner))
    const hash = await passwordHash(given.password)
    return retryOnConflict(
      async () => {
        const { link, owner } = await this.#usable(given.token, 'invitation', client)
        const writes = [removal(link.row), ...(await this.#passwordWrites(owner.id, hash, ''))]
        return this.#start(owner, { ...client, method: 'password', apiKey: null }, writes)
      },
      () => fail('conflict'),
    )
  }

  /** Starts a session for a user whom the OpenID provider has authenticated. */
  withOpenId(owner: Row, client: BrowserClient): Promise<string> {
    return retryOnConflict(
      () => this.#start(owner, { ...client, method: 'openid', apiKey: null }, []),
      () => fail('conflict'),
    )
  }

  /** Starts a session for the owner of a passkey, whose use the writes record; of two such uses one succeeds. */
  async withPasskey(owner: Row, writes: readonly Write[], client: BrowserClient): Promise<string> {
    if (!bodyOf(owner).active) return fail('sign_in_rejected')
    const token = await this.#start(owner, { ...client, method: 'passkey', apiKey: null }, writes)
    return token === CONFLICT ? fail('conflict') : token
  }

  /** Records a sign-in that was rejected elsewhere. */
  rejected(method: NewSignIn['method'], reason: string, client: BrowserClient, owner?: Row): Promise<void> {
    const known = owner && { user: { id: owner.id, email: bodyOf(owner).email } }
    return this.#rejected.record({ method, reason, client, ...known })
  }

  /** Changes the password of a signed-in user, and ends the other sessions of the user. */
  async changePassword(
    { current, password }: { current: string | undefined; password: string },
    { user: person, principal }: Session,
    call: Call,
  ): Promise<void> {
    const { store } = this.#options
    const email = person.email.toLowerCase()
    const known = await storedHash(person.id, store)
    this.#attempts.require(email, call.ip)
    if (known !== undefined && !(await isPassword(current ?? '', known))) {
      this.#attempts.failed(email, call.ip)
      fail('password_wrong', { field: 'current_password' })
    }
    requireGoodPassword(password, person)
    const hash = await passwordHash(password)
    await retryOnConflict(
      async () => {
        const row = (await store.get(person.id)) ?? fail('not_found')
        const event = await eventOf(user, { ...bodyOf(row) }, 'updated', call)
        const writes = await this.#passwordWrites(person.id, hash, principal.keyId)
        return (await store.commit([...writes, ...event])).ok ? undefined : CONFLICT
      },
      () => fail('conflict'),
    )
  }

  /** Sets a password and ends all sessions but one. */
  async #passwordWrites(id: string, hash: string, kept: string): Promise<Write[]> {
    const { store } = this.#options
    const sessions = await childRows(dashboardSession.name, id, { store })
    const ended = sessions.filter(row => row.id !== kept).map(removal)
    return [await passwordWrite(id, hash, store), ...ended]
  }

  /** A link that can be used, and its user. */
  async #usable(token: string, purpose: 'sign_in' | 'invitation', client: BrowserClient) {
    const { store } = this.#options
    const link = await findLink(token, purpose, this.#options)
    const owner = link && (await store.get(link.user))
    const hasKey = link?.apiKey === null || (link && (await store.get(link.apiKey)) !== undefined)
    if (link && hasKey && owner?.kind === user.name && bodyOf(owner).active) return { link, owner }
    await this.#rejected.record({ method: 'link', reason: 'invalid link', client })
    return fail(purpose === 'sign_in' ? 'link_invalid' : 'invitation_invalid')
  }

  /** Stores a session and its event together with other writes. */
  async #start(
    owner: Row,
    signIn: NewSignIn & BrowserClient,
    writes: readonly Write[],
  ): Promise<string | typeof CONFLICT> {
    const { store, sessions } = this.#options
    const ended = new Set(writes.flatMap(write => (write.op === 'remove' ? [write.id] : [])))
    const session = await sessions.prepare(owner.id, signIn, ended)
    const { email, role } = bodyOf(owner)
    const principal = { id: owner.id, role, subject: email, keyId: session.id }
    const event = await eventOf(dashboardSession, session.body, 'created', this.#callOf(principal, signIn))
    const outcome = await store.commit([...writes, ...session.writes, ...event])
    return outcome.ok ? session.token : CONFLICT
  }

  #callOf(principal: Principal, { ip, base }: BrowserClient): Call {
    const { store, live, sealer, info, now, refreshUsage, checkDomain } = this.#options
    return { store, live, sealer, info, now, refreshUsage, checkDomain, principal, ip, base }
  }
}
