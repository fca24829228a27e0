/**
 * Header families that describe the client to services; only the gateway may send them. The second is for services
 * written for another platform.
 */
export const identityFamilies = ['adit-auth-', 'ngrok-auth-'] as const

/** The third is where the other platform once put tokens. */
const ofIdentity = [...identityFamilies, 'ngrok-oauth-'] as const

/**
 * Prefixes that only the gateway sets, in every request: its own names, used or not, and those of forwarding proxies.
 */
export const ownFamilies: readonly string[] = ['adit-', 'ngrok-', 'x-forwarded-']

/** Exceptions that API clients behind a tunnel, and clients of the hosted service, send. */
const ofClients: ReadonlySet<string> = new Set([
  'adit-version',
  'ngrok-version',
  'ngrok-skip-browser-warning',
])

/** Exceptions that an API behind a tunnel sends in its responses. */
const ofApis: ReadonlySet<string> = new Set([
  'adit-operation-id',
  'adit-version',
  'ngrok-operation-id',
  'ngrok-version',
])

/** How the gateway marks its responses: a service must not impersonate it. */
export const answerFamilies: readonly string[] = ['adit-', 'ngrok-']

/**
 * Headers with which proxies and CDNs describe the client, the original URL and themselves, and which services trust.
 * A client may have made them up, and the values of a trusted proxy are used before they are removed.
 */
export const ownNames: readonly string[] = [
  'forwarded',
  'x-real-ip',
  // The client address.
  'true-client-ip',
  'x-true-client-ip',
  'client-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-originating-ip',
  'x-remote-ip',
  'x-remote-addr',
  'x-proxyuser-ip',
  'x-original-forwarded-for',
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'cf-pseudo-ipv4',
  'cf-visitor',
  'fastly-client-ip',
  'fly-client-ip',
  'incap-client-ip',
  'cdn-src-ip',
  'x-appengine-user-ip',
  'x-azure-clientip',
  'x-azure-socketip',
  'x-envoy-external-address',
  'x-nf-client-connection-ip',
  'x-vercel-forwarded-for',
  'proxy-client-ip',
  'wl-proxy-client-ip',
  'wl-proxy-ssl',
  // The original target, before a proxy changed it; some services route by it.
  'x-original-url',
  'x-original-uri',
  'x-original-host',
  'x-original-method',
  'x-rewrite-url',
  'x-envoy-original-path',
  'x-host',
  'x-http-host-override',
  'x-scheme',
  'x-url-scheme',
  'front-end-https',
  // CGI turns it into the variable that selects the proxy for outgoing requests.
  'proxy',
]

const single: ReadonlySet<string> = new Set(ownNames)

/** Services fold case, and some treat all characters other than letters and digits alike. */
const folded = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '-')

const A = 0x61
const LETTERS = 26
const X = 'x'.charCodeAt(0) - A
/**
 * The lengths of own names as bits, by their first letters. Half of all names begin with "x-", so for these it is the
 * third letter, in the second half of the table.
 */
const lengths = new Uint32Array(2 * LETTERS)
for (const name of ownNames) {
  const place = placeOf(name)
  lengths[place] = (lengths[place] ?? 0) | (1 << name.length)
}

function placeOf(name: string): number {
  const letter = (name.charCodeAt(0) | 0x20) - A
  return letter === X ? LETTERS + (name.charCodeAt(2) | 0x20) - A : letter
}

/** Nearly all names are not ours, and leave here after a look at two characters. */
function mayBeOwn(name: string): boolean {
  if (name.length < 32 && (((lengths[placeOf(name)] ?? 0) >>> name.length) & 1) === 1) return true
  return mayBeOfFamily(name)
}

/** "ad", "ng" and "x-f" begin the families. */
function mayBeOfFamily(name: string): boolean {
  const letter = name.charCodeAt(0) | 0x20
  if (letter === 0x61) return (name.charCodeAt(1) | 0x20) === 0x64
  if (letter === 0x6e) return (name.charCodeAt(1) | 0x20) === 0x67
  return letter === 0x78 && (name.charCodeAt(2) | 0x20) === 0x66
}

/** Whether a name, in any spelling, describes the client. */
export function isIdentityName(name: string): boolean {
  if (!mayBeOwn(name)) return false
  const text = folded(name)
  return ofIdentity.some(family => text.startsWith(family))
}

/** Whether a name, in any spelling, may be sent only by the gateway. */
export function isOwnName(name: string): boolean {
  if (!mayBeOwn(name)) return false
  const text = folded(name)
  if (single.has(text)) return true
  return ownFamilies.some(family => text.startsWith(family)) && !ofClients.has(text)
}

/** Whether a response header name, in any spelling, may be sent only by the gateway. */
export function isAnswerName(name: string): boolean {
  if (!mayBeOfFamily(name)) return false
  const text = folded(name)
  return answerFamilies.some(family => text.startsWith(family)) && !ofApis.has(text)
}
