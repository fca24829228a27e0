import type {
  EndpointOptions,
  HeaderChanges,
  OAuthOptions,
  OidcOptions,
  SignInOptions,
  UserAgentFilter,
  WebhookOptions,
} from '#agent/options.ts'
import { pemInput } from '#agent/pem-input.ts'
import { refuseEndpoint as refuse } from '#agent/refuse-endpoint.ts'
import type { JsonObject } from '#base/json-fields.ts'

type Module = JsonObject | null

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** The traffic options in wire format; null for unset ones. */
export function wireModules(options: EndpointOptions): Readonly<Record<string, Module>> {
  const { hostHeader = '', oauth, oidc, verifyWebhook } = options
  const host = hostHeader === '' || hostHeader === 'rewrite' ? [] : [`host:${hostHeader}`]
  return {
    Compression: onOff(options.compression),
    CircuitBreaker: circuitBreaker(options.circuitBreaker),
    IPRestriction: ipRestriction(options),
    BasicAuth: basicAuth(options.basicAuth),
    OAuth: oauth === undefined ? null : oauthOf(oauth),
    OIDC: oidc === undefined ? null : oidcOf(oidc),
    WebhookVerification: verifyWebhook === undefined ? null : webhookOf(verifyWebhook),
    MutualTLSCA: authorities(options.mutualTlsCas),
    RequestHeaders: headers(options.requestHeaders, host),
    ResponseHeaders: headers(options.responseHeaders, []),
    WebsocketTCPConverter: onOff(options.websocketTcpConverter),
    UserAgentFilter: userAgentFilter(options.userAgentFilter),
  }
}

const onOff = (given = false): Module => (given ? {} : null)

function circuitBreaker(share: number | undefined): Module {
  if (share === undefined) return null
  // NaN would arrive as null, which means zero.
  if (!(share >= 0 && share <= 1)) refuse('the threshold of a circuit breaker is a number from 0 to 1')
  return { error_threshold: share }
}

function ipRestriction({ allowCidrs = [], denyCidrs = [] }: EndpointOptions): Module {
  if (allowCidrs.length + denyCidrs.length === 0) return null
  return { allow_cidrs: [...allowCidrs], deny_cidrs: [...denyCidrs] }
}

function basicAuth(given: readonly string[] = []): Module {
  if (given.length === 0) return null
  const credentials = given.map(text => {
    const colon = text.indexOf(':')
    // The text is not repeated: it is a secret.
    if (colon < 1) refuse('a credential must have the form user:password')
    return { username: text.slice(0, colon), cleartext_password: text.slice(colon + 1) }
  })
  return { credentials }
}

const oauthOf = ({ provider, ...rest }: OAuthOptions): JsonObject => ({ provider, ...signIn(rest) })
const oidcOf = ({ issuerUrl, ...rest }: OidcOptions): JsonObject => ({
  issuer_url: issuerUrl,
  ...signIn(rest),
})

function signIn(options: SignInOptions): JsonObject {
  const { clientId = '', clientSecret = '', scopes = [], allowEmails = [], allowDomains = [] } = options
  return {
    client_id: clientId,
    client_secret: clientSecret,
    scopes: [...scopes],
    allow_emails: [...allowEmails],
    allow_domains: [...allowDomains],
  }
}

const webhookOf = ({ provider, secret = '' }: WebhookOptions): JsonObject => ({ provider, secret })

/** Only certificates are sent: the file may also contain the CA's key. */
function authorities(given: string | undefined): Module {
  if (given === undefined) return null
  const found = pemInput(given).match(CERTIFICATE)
  if (found === null) return refuse('the CAs for client certificates are not certificates in PEM')
  return { mutual_tls_ca: Buffer.from(`${found.join('\n')}\n`).toString('base64') }
}

function headers({ add = [], remove = [] }: HeaderChanges = {}, more: readonly string[]): Module {
  return add.length + remove.length + more.length === 0
    ? null
    : { add: [...add, ...more], remove: [...remove] }
}

function userAgentFilter({ allow = [], deny = [] }: UserAgentFilter = {}): Module {
  return allow.length + deny.length === 0 ? null : { allow: [...allow], deny: [...deny] }
}
