import { createHmac } from 'node:crypto'
import type { Egress, EgressAnswer, EgressRequest } from '#base/egress.ts'
import { fail } from '#base/errors.ts'
import type { Log } from '#base/log.ts'
import type { Application } from '#auth/providers/setup.ts'
import { type FieldReader, MessageError } from '#base/json-fields.ts'

const TIMEOUT_MS = 10_000
/** A hundred GitHub teams, each with its organisation and its parent, come near to this. */
const MAX_BYTES = 1_048_576

/** The provider rejects the access token. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused'
}

/** Requests to one provider: bounded, and every failure is a Problem that names the provider. */
export class ProviderCalls {
  readonly title: string
  readonly #egress: Egress
  readonly #log: Log

  constructor(title: string, egress: Egress, log: Log) {
    this.title = title
    this.#egress = egress
    this.#log = log
  }

  async request(url: string, request: EgressRequest): Promise<EgressAnswer> {
    try {
      return await this.#egress.request(url, { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, ...request })
    } catch (error) {
      // Clients see the page: details of the operator's network are only logged.
      this.#log.warn({ error, provider: this.title }, 'request to an identity provider failed')
      return this.trouble('it is unreachable, too slow or sends too much')
    }
  }

  json(answer: EgressAnswer): unknown {
    try {
      return JSON.parse(answer.body.toString())
    } catch {
      return this.trouble('its response is not JSON')
    }
  }

  read<T>(value: unknown, field: FieldReader<T>): T {
    try {
      return field(value, '')
    } catch (error) {
      if (!(error instanceof MessageError)) throw error
      return this.trouble('its response has an undocumented form')
    }
  }

  trouble(reason: string): never {
    return fail('oauth_provider', { provider: this.title, reason })
  }
}

/** Requests to a provider with one user's token. */
export class ProviderApi {
  readonly application: Application
  readonly #calls: ProviderCalls
  readonly #base: string
  readonly #accessToken: string

  constructor(calls: ProviderCalls, base: string, application: Application, accessToken: string) {
    this.#calls = calls
    this.#base = base
    this.application = application
    this.#accessToken = accessToken
  }

  async get<T>(
    path: string,
    field: FieldReader<T>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<T> {
    return (await this.page(path, field, headers)).value
  }

  /** The same, and whether there is a next page: RFC 8288, whose URL is not followed, only detected. */
  async page<T>(
    path: string,
    field: FieldReader<T>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly value: T; readonly more: boolean }> {
    const answer = await this.#calls.request(this.#base + path, {
      headers: {
        accept: 'application/json',
        'user-agent': 'adit',
        authorization: `Bearer ${this.#accessToken}`,
        ...headers,
      },
    })
    if (tokenRefused(answer)) throw new TokenRefused()
    if (answer.status !== 200) this.trouble(`it responded with status ${answer.status}`)
    const value = this.#calls.read(this.#calls.json(answer), field)
    return { value, more: /;\s*rel="?next"?/.test(answer.headers['link'] ?? '') }
  }

  /** Proves that the access token is used by the application itself. */
  proof(): string {
    return createHmac('sha256', this.application.secret.reveal()).update(this.#accessToken).digest('hex')
  }

  trouble(reason: string): never {
    return this.#calls.trouble(reason)
  }
}

function tokenRefused({ status, headers, body }: EgressAnswer): boolean {
  if (status === 401) return true
  // The code 190 of Facebook means the same.
  if (status === 400) return /"code":\s*190\b/.test(body.toString('utf8', 0, 4096))
  // GitHub also sends 403 for rate limits, which do not concern the user.
  return status === 403 && headers['x-ratelimit-remaining'] !== '0' && headers['retry-after'] === undefined
}
