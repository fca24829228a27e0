/**
 * What the service behind is told of a visitor stands in fields of these families, which only the gateway may send.
 * The second is for services written for another platform.
 */
export const identityFamilies = ['adit-auth-', 'ngrok-auth-'] as const

/** The third is where the other platform told tokens once. */
const ofIdentity = [...identityFamilies, 'ngrok-oauth-'] as const

/**
 * Names that begin so are set by the gateway alone, in every request: those under its own names, whether it uses them
 * today or not, and what proxies say of a request that they pass on.
 */
export const ownFamilies: readonly string[] = ['adit-', 'ngrok-', 'x-forwarded-']

/** Of the families above, what clients of the API behind a tunnel, and clients of the hosted service, send. */
const ofClients: ReadonlySet<string> = new Set([
  'adit-version',
  'ngrok-version',
  'ngrok-skip-browser-warning',
])

/** What an API behind a tunnel says of its answers, under the families of the gateway. */
const ofApis: ReadonlySet<string> = new Set([
  'adit-operation-id',
  'adit-version',
  'ngrok-operation-id',
  'ngrok-version',
])

/** How the gateway marks its answers: a service must not pass for it. */
export const answerFamilies: readonly string[] = ['adit-', 'ngrok-']

/**
 * What proxies and delivery networks tell services of the client, of the address it asked for and of themselves, and
 * what services believe because of that. None of them stands before this gateway, so a client made it up.
 */
export const ownNames: readonly string[] = [
  'forwarded',
  'x-real-ip',
  // The address of the client.
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
  // What was asked for, before a proxy changed it; some services then route by it.
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
  // CGI makes of it the variable that says through which proxy to call others.
  'proxy',
]

const single: ReadonlySet<string> = new Set(ownNames)

/**
 * Services and the programs before them fold case, and some take every character that is neither letter nor digit for
 * the same one.
 */
const folded = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '-')

const A = 0x61
const LETTERS = 26
const X = 'x'.charCodeAt(0) - A
/**
 * The lengths that own names have, each as a bit, by their first letters. Half of all names begin with "x-", so of these
 * it is the third letter, in the second half of the table.
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

/** Nearly all names are none of ours, and are passed by here, without a look at more than two of their characters. */
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

/** Tells whether a name, however it is spelled, is of those that say who a visitor is. */
export function isIdentityName(name: string): boolean {
  if (!mayBeOwn(name)) return false
  const text = folded(name)
  return ofIdentity.some(family => text.startsWith(family))
}

/** Tells whether a name, however it is spelled, is one that only the gateway may send. */
export function isOwnName(name: string): boolean {
  if (!mayBeOwn(name)) return false
  const text = folded(name)
  if (single.has(text)) return true
  return ownFamilies.some(family => text.startsWith(family)) && !ofClients.has(text)
}

/** Tells whether a name in an answer, however it is spelled, is one that only the gateway may send. */
export function isAnswerName(name: string): boolean {
  if (!mayBeOfFamily(name)) return false
  const text = folded(name)
  return answerFamilies.some(family => text.startsWith(family)) && !ofApis.has(text)
}
