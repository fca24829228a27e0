import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { clientNetwork } from '#base/client-network.ts'
import { fail } from '#base/errors.ts'
import type { Penalties } from '#base/penalties.ts'
import type { basicAuth as contract } from '#contract/modules/basic-auth.ts'
import type { Stored } from '#contract/shape.ts'
import type { Handler } from '#http/exchange.ts'
import type { Fields } from '#http/fields.ts'
import { withHead } from '#http/changed.ts'
import type { HttpModule } from '#gateway/modules/module.ts'
import { endpointOf } from '#http/module-context.ts'
import { readModule } from '#base/read-module.ts'
import { errorReply } from '#http/pages.ts'
import { type JsonObject, list, object, text } from '#base/json-fields.ts'
import type { BindOptions } from '#tunnel/messages.ts'

/** The penalty of one wrong password. */
const GUESS_MS = 2000

const MAX_CREDENTIALS = 100
const MAX_LENGTH = 1024
const COLON = 0x3a
/** The base64 size of the longest user name and password, with room to spare. */
const MAX_HEADER = 16_384

interface PasswordLogin {
  readonly username: string
  readonly password: string
}

const options = object({
  credentials: list(
    object({
      username: text(MAX_LENGTH),
      cleartext_password: text(MAX_LENGTH),
      hashed_password: text(MAX_LENGTH),
    }),
    MAX_CREDENTIALS,
  ),
})

/**
 * Passwords arrive in plain text, over the agent's TLS link. `hashed_password` is in the protocol's schema, but its
 * hash is not documented, so it is rejected rather than guessed.
 */
function loginsOf(given: JsonObject): PasswordLogin[] {
  const { credentials } = readModule('BasicAuth', options, given)
  if (credentials.length === 0) refuse('BasicAuth', 'it names no credential')
  return credentials.map(({ username, cleartext_password, hashed_password }) => {
    if (hashed_password !== '')
      refuse('BasicAuth', 'hashed_password is not supported, use cleartext_password')
    return checked('BasicAuth', { username, password: cleartext_password })
  })
}

/** Parses the form of old agents, `user:password`. */
function loginOf(auth: string): PasswordLogin {
  const colon = auth.indexOf(':')
  if (colon === -1) refuse('Auth', 'it is not of the form user:password')
  return checked('Auth', { username: auth.slice(0, colon), password: auth.slice(colon + 1) })
}

function checked(option: string, login: PasswordLogin): PasswordLogin {
  const { username, password } = login
  if (username === '' || password === '') refuse(option, 'a credential needs a user name and a password')
  // RFC 7617: the first colon ends the user name, and control characters are in neither.
  if (username.includes(':')) refuse(option, 'a user name cannot have a colon')
  if (/\p{Cc}/u.test(username + password)) refuse(option, 'a credential cannot have control characters')
  return login
}

const refuse = (option: string, reason: string): never => fail('bind_option', { option, reason })

/** All credentials of an agent. */
const broughtBy = ({ BasicAuth, Auth }: BindOptions): PasswordLogin[] => [
  ...(BasicAuth ? loginsOf(BasicAuth) : []),
  ...(Auth === '' ? [] : [loginOf(Auth)]),
]

interface PasswordConfig {
  readonly endpoint: string
  /** The wrong passwords of clients at all endpoints. */
  readonly guesses: Penalties
  /** Shown to the client; the requested host when absent. */
  readonly realm?: string
  /** Browsers send OPTIONS without a password before cross-site requests. */
  readonly allowOptions?: boolean
}

/**
 * Allows requests with one of the credentials and removes the field: the password is between client and gateway, and
 * the service might log it or interpret it.
 */
function basicAuth(
  logins: readonly PasswordLogin[],
  { endpoint, guesses, realm, allowOptions = false }: PasswordConfig,
): Handler {
  // Digests have one length, so comparing them does not reveal the length of the secrets either.
  const key = randomBytes(32)
  const digest = (bytes: string | Buffer) => createHmac('sha256', key).update(bytes).digest()
  const known = logins.map(({ username, password }) => digest(`${username}:${password}`))
  const isKnown = (given: Buffer): boolean => {
    const sent = digest(given)
    // Compare with all: the time must not reveal which one was close.
    return known.reduce((found, each) => timingSafeEqual(each, sent) || found, false)
  }

  const values = realm === undefined ? {} : { realm }

  return async (exchange, next) => {
    const { head } = exchange
    if (allowOptions && head.method === 'OPTIONS') return next(exchange)
    const given = credentialsIn(head.fields)
    exchange.context.modules.username = given && nameIn(given)
    if (given === undefined) return errorReply('password_required', head, values)
    const client = clientNetwork(exchange.client.ip)
    // Right or wrong: a response that differs would reveal a correct password early.
    const seconds = Math.ceil(guesses.waitOf(endpoint, client) / 1000)
    if (seconds > 0) return errorReply('passwords_wrong', head, { seconds, retryAfter: seconds })
    if (!isKnown(given)) {
      guesses.add(endpoint, client, GUESS_MS)
      return errorReply('password_required', head, values)
    }
    return next(withHead(exchange, { fields: head.fields.without('authorization') }))
  }
}

/** The `user:password` of the request; undefined when there is none or more than one. */
function credentialsIn(fields: Fields): Buffer | undefined {
  const [value = '', second] = fields.all('authorization')
  if (second !== undefined || value.length > MAX_HEADER) return undefined
  const encoded = /^basic +([a-z0-9+/]+={0,2})$/i.exec(value)?.[1]
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64')
}

/** Undefined without a colon: it may be only a password, which must not be reported. */
function nameIn(given: Buffer): string | undefined {
  const colon = given.indexOf(COLON)
  return colon < 0 ? undefined : given.toString('utf8', 0, Math.min(colon, MAX_LENGTH))
}

export const basicAuthModule: HttpModule = {
  name: 'basic_auth',
  joinsAgent: true,
  fromRecord(given, moduleContext, { state }) {
    const { agent } = moduleContext
    const { realm, allow_options: allowOptions } = given as Stored<typeof contract.shape>
    const logins = agent === undefined ? [] : broughtBy(agent)
    // Without one no request is allowed, and the owner should know why.
    if (logins.length === 0)
      fail('module_unusable', { module: 'basic_auth', reason: 'no agent has brought a password' })
    const endpoint = endpointOf(moduleContext)
    return basicAuth(logins, { endpoint, guesses: state.passwordGuesses, realm, allowOptions })
  },
  fromAgent: {
    options: ['BasicAuth', 'Auth'],
    build: (given, moduleContext, { state }) =>
      basicAuth(broughtBy(given), {
        endpoint: endpointOf(moduleContext),
        guesses: state.passwordGuesses,
      }),
  },
}
