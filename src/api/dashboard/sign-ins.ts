import type { Call, Deps, Principal } from '#api/call.ts'
import { findLink } from '#api/dashboard/links.ts'
import { RejectedSignIns } from '#api/dashboard/rejected-sign-ins.ts'
import type { DashboardSessions, NewSignIn } from '#api/dashboard/sessions.ts'
import { eventOf } from '#api/events.ts'
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

export interface SignInsOptions extends Deps {
  readonly sessions: DashboardSessions
  readonly log: Log
}

/** Starts sessions. */
export class SignIns {
  readonly #options: SignInsOptions
  readonly #rejected: RejectedSignIns

  constructor(options: SignInsOptions) {
    this.#options = options
    this.#rejected = new RejectedSignIns(options)
  }

  /** Uses a link; of two requests with the same link, one succeeds. Resolves to the session's token. */
  withLink(token: string, client: BrowserClient): Promise<string> {
    const attempt = async (): Promise<string | typeof CONFLICT> => {
      const { store } = this.#options
      const link = await findLink(token, this.#options)
      const owner = link && (await this.#activeUser(link.user))
      const hasKey = link?.apiKey === null || (link && (await store.get(link.apiKey)) !== undefined)
      if (!link || !owner || !hasKey) {
        await this.#rejected.record({ method: 'link', reason: 'invalid link', client })
        return fail('link_invalid')
      }
      const use: Write = { op: 'remove', id: link.row.id, version: link.row.version }
      return this.#start(owner, { ...client, method: 'link', apiKey: link.apiKey }, [use])
    }
    return retryOnConflict(attempt, () => fail('conflict'))
  }

  async #activeUser(id: string): Promise<Row | undefined> {
    const row = await this.#options.store.get(id)
    return row?.kind === user.name && (JSON.parse(row.body) as UserBody).active ? row : undefined
  }

  /** Stores a session and its event together with other writes. */
  async #start(
    owner: Row,
    signIn: NewSignIn & BrowserClient,
    writes: readonly Write[],
  ): Promise<string | typeof CONFLICT> {
    const { store, sessions } = this.#options
    const session = await sessions.prepare(owner.id, signIn)
    const { email, role } = JSON.parse(owner.body) as UserBody
    const principal = { id: owner.id, role, subject: email, keyId: session.id }
    const event = await eventOf(dashboardSession, session.body, 'created', this.#callOf(principal, signIn))
    const outcome = await store.commit([...writes, ...session.writes, ...event])
    return outcome.ok ? session.token : CONFLICT
  }

  #callOf(principal: Principal, { ip, base }: BrowserClient): Call {
    const { store, live, sealer, info, now } = this.#options
    return { store, live, sealer, info, now, principal, ip, base }
  }
}
