import { fail } from '#base/errors.ts'
import type { ProviderCalls } from '#auth/providers/api.ts'
import type { Application } from '#auth/providers/setup.ts'
import { type FieldReader, object, optional } from '#base/json-fields.ts'

/** Longer ones would not fit into request headers. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/
const MAX_SCOPES = 8192

export interface Tokens {
  readonly accessToken: string
  readonly refreshToken?: string
  /** Undefined when absent: all requested scopes are granted then (RFC 6749 §5.1). */
  readonly granted?: readonly string[]
}

const token: FieldReader<string> = value => (typeof value === 'string' && TOKEN.test(value) ? value : '')
const anything: FieldReader<unknown> = value => value

const answerFields = object({
  access_token: token,
  refresh_token: token,
  token_type: optional(anything),
  scope: optional(anything),
  error: optional(anything),
})

/** The token endpoint of a provider. */
export class TokenEndpoint {
  readonly #calls: ProviderCalls
  readonly #address: string
  readonly #application: Application

  constructor(calls: ProviderCalls, address: string, application: Application) {
    this.#calls = calls
    this.#address = address
    this.#application = application
  }

  redeem(code: string, callback: string, verifier: string | undefined): Promise<Tokens> {
    return this.#ask({
      grant_type: 'authorization_code',
      code,
      redirect_uri: callback,
      ...(verifier !== undefined && { code_verifier: verifier }),
    })
  }

  async refresh(refreshToken: string): Promise<Tokens> {
    const tokens = await this.#ask({ grant_type: 'refresh_token', refresh_token: refreshToken })
    // Without a new one, the current one stays valid.
    return { refreshToken, ...tokens }
  }

  async #ask(parameters: Readonly<Record<string, string>>): Promise<Tokens> {
    const { id, secret } = this.#application
    const form = new URLSearchParams({ ...parameters, client_id: id, client_secret: secret.reveal() })
    const answer = await this.#calls.request(this.#address, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
        'user-agent': 'adit',
      },
      body: form.toString(),
    })
    if (answer.status >= 500) this.#calls.trouble(`it responded with status ${answer.status}`)
    const given = this.#calls.read(this.#calls.json(answer), answerFields)
    // GitHub sends errors with 200.
    if (answer.status !== 200 || given.error !== undefined) this.#refuse(given.error, answer.status)
    const type = given.token_type ?? 'bearer'
    if (given.access_token === '' || typeof type !== 'string' || type.toLowerCase() !== 'bearer')
      this.#calls.trouble('its response has no usable token')
    return {
      accessToken: given.access_token,
      ...(given.refresh_token !== '' && { refreshToken: given.refresh_token }),
      ...scopesIn(given.scope),
    }
  }

  #refuse(error: unknown, status: number): never {
    return fail('oauth_exchange', {
      provider: this.#calls.title,
      reason: errorCode(error) ?? `status ${status}`,
    })
  }
}

/** A valid error code only: the page must not show text of a stranger. */
export const errorCode = (error: unknown): string | undefined =>
  typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? error : undefined

/** A list at Twitch, a string elsewhere, with commas at GitHub and LinkedIn. */
function scopesIn(scope: unknown): Pick<Tokens, 'granted'> {
  const text = Array.isArray(scope) ? scope.join(' ') : scope
  if (typeof text !== 'string') return {}
  return {
    granted: text
      .slice(0, MAX_SCOPES)
      .split(/[\s,]+/)
      .filter(Boolean),
  }
}
