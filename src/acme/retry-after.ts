/** Longer delays are capped to this. */
const LONGEST_MS = 7 * 86_400_000

/** The time of a Retry-After, in seconds from now or as a date; undefined when it is invalid. */
export function retryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  const at = /^\d{1,9}$/.test(text) ? now + Number(text) * 1000 : dateOf(text)
  return at === undefined ? undefined : Math.min(Math.max(at, now), now + LONGEST_MS)
}

function dateOf(text: string): number | undefined {
  const at = /^[A-Z][a-z]{2,8}, /.test(text) && text.length < 40 ? Date.parse(text) : NaN
  return Number.isNaN(at) ? undefined : at
}
