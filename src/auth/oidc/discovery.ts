import * as oauth from 'oauth4webapi'
import { fail } from '#base/errors.ts'
import type { EgressFetch } from '#auth/sign-in/egress-fetch.ts'

const GOOD_MS = 3_600_000
/** Many users may be waiting, and the provider may be back in a moment. */
const BAD_MS = 5000
/** Signed with a key that only the provider has. A shared secret, or none, proves nothing. */
const asymmetric = /^(?:RS|PS|ES)(?:256|384|512)$|^EdDSA$|^Ed25519$/

/**
 * A usable issuer URL. Without TLS it is allowed only on loopback, as in tests: anyone in between could forge users.
 * The egress must allow such addresses too.
 */
export function issuerUrl(text: string): URL {
  const url = URL.parse(text)
  if (url === null) return unusable('its issuer is not a URL')
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    return unusable('its issuer has more than a host and a path')
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname)))
    return unusable('its issuer does not begin with https:')
  return url
}

const unusable = (reason: string): never => fail('sign_in_unconfigured', { reason })

const isLoopback = (host: string): boolean =>
  host === '[::1]' || host === 'localhost' || host.endsWith('.localhost') || /^127\.\d+\.\d+\.\d+$/.test(host)

export type OidcProvider = oauth.AuthorizationServer & { readonly authorization_endpoint: string }

/** The metadata of an OpenID provider, fetched on first use and then once an hour. */
export class Discovery {
  readonly #issuer: URL
  readonly #options: oauth.DiscoveryRequestOptions
  readonly #now: () => number
  #asked: Promise<OidcProvider> | undefined
  #goodUntil = 0

  constructor(issuer: URL, fetch: EgressFetch, now: () => number) {
    this.#issuer = issuer
    this.#now = now
    this.#options = {
      [oauth.customFetch]: fetch,
      [oauth.allowInsecureRequests]: issuer.protocol === 'http:',
    }
  }

  /** Rejects when the provider is unreachable, or its metadata unusable. */
  provider(): Promise<OidcProvider> {
    if (this.#asked !== undefined && this.#now() < this.#goodUntil) return this.#asked
    // Concurrent callers share the pending request.
    this.#goodUntil = Infinity
    const asked = this.#ask()
    this.#asked = asked
    asked.then(
      () => (this.#goodUntil = this.#now() + GOOD_MS),
      () => (this.#goodUntil = this.#now() + BAD_MS),
    )
    return asked
  }

  async #ask(): Promise<OidcProvider> {
    const response = await oauth.discoveryRequest(this.#issuer, this.#options)
    const found = await oauth.processDiscoveryResponse(this.#issuer, response)
    const { authorization_endpoint: endpoint } = found
    if (endpoint === undefined || !this.#isUsable(endpoint))
      return fail('sign_in_provider', { reason: 'its configuration has no usable authorization endpoint' })
    const algorithms = (found.id_token_signing_alg_values_supported ?? ['RS256']).filter(name =>
      asymmetric.test(name),
    )
    return {
      ...found,
      authorization_endpoint: endpoint,
      id_token_signing_alg_values_supported: algorithms,
    }
  }

  #isUsable(endpoint: string): boolean {
    const protocol = URL.parse(endpoint)?.protocol
    return protocol === 'https:' || (protocol === 'http:' && this.#issuer.protocol === 'http:')
  }
}
