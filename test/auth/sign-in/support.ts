import { randomUUID } from 'node:crypto'
import { applicationSession } from '#contract/kinds/application.ts'
import { newId, timestamp } from '#base/ids.ts'
import type { Exchange, Handler, Reply } from '#http/exchange.ts'
import { bodyOf } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import type { RequestHead } from '#http/head.ts'
import type { ModuleContext } from '#http/module-context.ts'
import { Records } from '#registry/records/records.ts'
import { CodeClaims } from '#auth/sign-in/code-claims.ts'
import { createSignIn } from '#auth/sign-in/service.ts'
import type { RequestContext } from '#http/request-context.ts'
import type { AuthResult, SignIn, SignInMethod, SignInConfig, SignInOffer } from '#auth/sign-in/sign-in.ts'
import type { SignedInUser, UserSessionStore } from '#auth/sign-in/user-session-store.ts'
import { request } from '../../gateway/modules/support.ts'
import { testLog } from '../../support/secrets.ts'
import { sentReply } from '../../http/pages/read-reply.ts'

const config: SignInConfig = {
  optionsPassthrough: false,
  cookiePrefix: '',
  inactivityTimeout: 0,
  maximumDuration: 0,
  authCheckInterval: 0,
}

export const anna: AuthResult = {
  identity: { id: 'user-1', username: 'anna', email: 'anna@example.com', name: 'Anna Bell' },
}

export class Clock {
  time = Date.parse('2026-03-01T12:00:00Z')
  readonly now = (): number => this.time

  pass(seconds: number): void {
    this.time += seconds * 1000
  }
}

/** Writes rows where the gateway reads them, as the server does by way of its store. */
class MemorySessions implements UserSessionStore {
  readonly records = new Records()
  readonly arrivals: SignedInUser[] = []
  readonly uses: string[] = []
  readonly ends: string[] = []
  readonly codes = new CodeClaims()
  /** Rows are held back until they are let go. */
  holdsBack = false
  #held: (() => void)[] = []

  async signedIn(signedIn: SignedInUser): Promise<{ userId: string; sessionId: string }> {
    this.arrivals.push(signedIn)
    const [userId, sessionId] = [newId('au'), newId('as')]
    const put = (): void => this.#put(sessionId, userId)
    if (this.holdsBack) this.#held.push(put)
    else put()
    return { userId, sessionId }
  }

  active(sessionId: string): void {
    this.uses.push(sessionId)
  }

  async ended(sessionId: string): Promise<void> {
    this.ends.push(sessionId)
    this.remove(sessionId)
  }

  async claimCode(claim: Parameters<CodeClaims['claim']>[0]) {
    return this.codes.claim(claim)
  }

  remove(id: string): void {
    this.records.changes([{ op: 'remove', kind: 'application_session', id }])
  }

  letGo(): void {
    for (const put of this.#held.splice(0)) put()
  }

  get sessionIds(): string[] {
    return [...this.records.all(applicationSession)].map(({ id }) => id)
  }

  #put(id: string, parent: string): void {
    const body = { id, created_at: timestamp(0) }
    this.records.changes([
      { op: 'put', row: { kind: 'application_session', id, parent, version: 1, body, readable: true } },
    ])
  }
}

/** A method whose provider returns what a test sets. */
export class ScriptedMethod implements SignInMethod {
  readonly provider = { name: 'scripted', url: 'https://provider.test' }
  fingerprint = 'one'
  passesTokens = false
  granted: AuthResult = anna
  begun: Parameters<SignInMethod['begin']>[0][] = []
  finished: Parameters<SignInMethod['finish']>[0][] = []

  async begin(ask: Parameters<SignInMethod['begin']>[0]) {
    this.begun.push(ask)
    const url = `https://provider.test/authorize?state=${encodeURIComponent(ask.state)}`
    return { url, memory: { secret: `memory ${this.begun.length}` } }
  }

  async finish(answer: Parameters<SignInMethod['finish']>[0]): Promise<AuthResult> {
    this.finished.push(answer)
    return this.granted
  }
}

interface Ask {
  readonly url: string
  readonly method?: string
  readonly fields?: string
  readonly upgrade?: string
}

export const offerOf = (
  method: SignInMethod,
  changed: Partial<SignInConfig> = {},
  { key = 'scripted', title = 'Provider' } = {},
): SignInOffer => ({ key, title, method, config: { ...config, ...changed } })

/** Sign-in with its own clock, in front of a service that returns the request it got. */
export class Site {
  readonly clock = new Clock()
  readonly book = new MemorySessions()
  readonly signIn: SignIn
  /** Undefined where there is no listener for HTTPS. */
  httpsPort: number | undefined = 443
  /** What reached the service. */
  readonly sent: RequestHead[] = []
  readonly traces: RequestContext[] = []
  /** Which realm requires sign-in at a host. */
  realmAt: (scheme: 'http' | 'https', host: string) => string | undefined = () => 'route_1'
  /** Fields of what the service answers. */
  answer = ''

  constructor(key = Buffer.alloc(32, 7), book?: MemorySessions, clock?: Clock) {
    if (book) this.book = book
    if (clock) this.clock = clock
    const httpsPort = (): number | undefined => this.httpsPort
    this.signIn = createSignIn({
      info: {
        domain: 'gate.test',
        httpPort: 80,
        get httpsPort() {
          return httpsPort()
        },
      },
      key,
      records: this.book.records,
      userSessions: this.book,
      realmsAt: (scheme, host) => [this.realmAt(scheme, host) ?? []].flat(),
      log: testLog(),
      now: this.clock.now,
    })
  }

  handler(
    method: SignInMethod,
    changed: Partial<SignInConfig> = {},
    moduleContext: ModuleContext = { id: 'route_1' },
  ): Handler {
    return this.signIn.handler([offerOf(method, changed)], moduleContext)
  }

  /** Sends a request through a handler to the service; requests for the central host go there. */
  async ask(handler: Handler, ask: Ask): Promise<Reply> {
    const exchange = exchangeFor(ask)
    const chosen = this.signIn.callbackHandler(exchange.head) ?? handler
    this.traces.push(exchange.context)
    return chosen(exchange, async ({ head }) => {
      this.sent.push(head)
      const body = bodyOf(Buffer.from('the service'))
      const fields = new Fields(this.answer)
      return { head: { status: 200, reason: 'OK', framing: body.framing, fields }, body }
    })
  }
}

function exchangeFor({ url, method = 'GET', fields = '', upgrade = '' }: Ask): Exchange {
  const [scheme = '', rest = ''] = url.split('://')
  const slash = rest.indexOf('/')
  const [authority, target] = slash < 0 ? [rest, '/'] : [rest.slice(0, slash), rest.slice(slash)]
  const plain = request(fields)
  const question = target.indexOf('?')
  return {
    ...plain,
    client: { ...plain.client, scheme: scheme === 'http' ? 'http' : 'https' },
    head: {
      ...plain.head,
      method,
      target,
      path: question < 0 ? target : target.slice(0, question),
      host: authority.replace(/:\d+$/, ''),
      authority,
      upgrade,
    },
  }
}

export const textOf = (reply: Reply): string => {
  let text = ''
  sentReply(reply).body.read(
    { data: bytes => (text += bytes.toString()), end: () => undefined, fail: () => undefined },
    false,
  )
  return text
}

export const locationOf = (reply: Reply): string => reply.head.fields.get('location') ?? ''
export const cookiesOf = (reply: Reply): string[] => reply.head.fields.all('set-cookie')

/** The header of browsers for page navigation. */
export const PAGE = 'Sec-Fetch-Mode: navigate\r\n'

/** A browser: it keeps cookies by host, as far as these tests need it. */
export class Browser {
  readonly #jars = new Map<string, Map<string, string>>()
  readonly #site: Site
  readonly #handler: Handler

  constructor(site: Site, handler: Handler) {
    this.#site = site
    this.#handler = handler
  }

  jar(host: string): Map<string, string> {
    const jar = this.#jars.get(host) ?? new Map<string, string>()
    this.#jars.set(host, jar)
    return jar
  }

  cookieLine(host: string): string {
    const pairs = [...this.jar(host)].map(([name, value]) => `${name}=${value}`)
    return pairs.length === 0 ? '' : `Cookie: ${pairs.join('; ')}\r\n`
  }

  async go(url: string, ask: Omit<Ask, 'url'> = {}, handler = this.#handler): Promise<Reply> {
    const { hostname } = new URL(url)
    const fields = this.cookieLine(hostname) + (ask.fields ?? PAGE)
    const reply = await this.#site.ask(handler, { ...ask, url, fields })
    for (const line of cookiesOf(reply)) {
      const [pair = ''] = line.split(';')
      const equals = pair.indexOf('=')
      const name = pair.slice(0, equals)
      if (/max-age=0/i.test(line)) this.jar(hostname).delete(name)
      else this.jar(hostname).set(name, pair.slice(equals + 1))
    }
    return reply
  }

  /** Signs in from wherever a redirect to the provider begins; returns the last answer, which sends to the site. */
  async signIn(url = 'https://app.test/', extra?: string): Promise<Reply> {
    const begun = await this.go(url)
    return this.go(locationOf(await this.go(this.callback(begun, extra))))
  }

  /** Where the provider would send the browser. */
  callback(begun: Reply, extra = `code=${randomUUID()}`): string {
    const state = new URL(locationOf(begun)).searchParams.get('state') ?? ''
    return `https://idp.gate.test/oauth2/callback?${extra}&state=${encodeURIComponent(state)}`
  }
}
