/**
 * What the service behind is told of a visitor stands in fields of these families, which only the gateway may send.
 * The second is for services written for another platform.
 */
export const identityFamilies = ['adit-auth-', 'ngrok-auth-'] as const

/** The third is where the other platform told tokens once. */
const ofIdentity = [...identityFamilies, 'ngrok-oauth-'] as const

/** What begins so is ours to say, in every request. */
export const ownFamilies: readonly string[] = [...ofIdentity, 'adit-mtls-', 'ngrok-mtls-', 'x-forwarded-']

/** How the gateway marks its answers: a service must not pass for it. */
export const answerNames: readonly string[] = ['adit-request-id', 'adit-error-code', 'ngrok-error-code']

export const ownNames: readonly string[] = [...answerNames, 'forwarded', 'x-real-ip']

const single: ReadonlySet<string> = new Set(ownNames)

/**
 * Services and the programs before them fold case, and some take every character that is neither letter nor digit for
 * the same one.
 */
const folded = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '-')

/** Nearly all names are none of ours, and are passed by here: "ad", "ng", "x-f" and "x-r" begin those that are. */
function mayBeOwn(name: string): boolean {
  const first = name.charCodeAt(0) | 0x20
  if (first === 0x61) return (name.charCodeAt(1) | 0x20) === 0x64
  if (first === 0x6e) return (name.charCodeAt(1) | 0x20) === 0x67
  if (first !== 0x78) return name.length === 'forwarded'.length
  const third = name.charCodeAt(2) | 0x20
  return third === 0x66 || (third === 0x72 && name.length === 'x-real-ip'.length)
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
  return single.has(text) || ownFamilies.some(family => text.startsWith(family))
}
