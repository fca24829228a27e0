const DAY = 86_400_000
/** Needs attention: automatic renewal should have happened long before. */
const MARGIN = 14 * DAY

/**
 * Whether a certificate expires soon. Short-lived ones are renewed in their last third, so they are late in their last
 * quarter. Times are milliseconds since 1970.
 */
export function isExpiring(from: number, to: number, now: number): boolean {
  const life = to - from
  return to - now < (life < 3 * MARGIN ? life / 4 : MARGIN)
}
