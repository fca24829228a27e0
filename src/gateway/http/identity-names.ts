/**
 * What the service behind is told of a visitor stands in fields of these families, which only the gateway may send.
 * The second is for services written for another platform.
 */
export const identityFamilies = ['adit-auth-', 'ngrok-auth-'] as const

/** Under which the other platform told tokens once. */
const further = ['ngrok-oauth-'] as const

/**
 * Tells whether a name, however it is spelled, is one of those. Services and the programs before them fold case, and
 * some take every character that is neither letter nor digit for the same one.
 */
export function isIdentityName(name: string): boolean {
  const first = name.charCodeAt(0) | 0x20
  // "a" or "n": nearly all names are none of ours, and are passed by here.
  if (first !== 0x61 && first !== 0x6e) return false
  const folded = name.toLowerCase().replace(/[^a-z0-9]/g, '-')
  return [...identityFamilies, ...further].some(family => folded.startsWith(family))
}
