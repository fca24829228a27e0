/** The delay of a Retry-After, in seconds or as a date, at most `maxMs`; undefined when it is absent or invalid. */
export function retryAfterMs(header: string | undefined, now: number, maxMs: number): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  const delay = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : dateOf(text) - now
  return Number.isNaN(delay) ? undefined : Math.min(Math.max(delay, 0), maxMs)
}

/** Of other texts `Date.parse` makes dates that were not meant: "1.5" is a day in January. */
const dateOf = (text: string): number =>
  /^[A-Z][a-z]{2,8}, /.test(text) && text.length < 40 ? Date.parse(text) : NaN
