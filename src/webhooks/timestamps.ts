/** Default for senders that sign a time and recommend no limit. */
export const USUAL_WINDOW = 180

// Seconds have ten digits from 2001 to 2286, milliseconds three more, so a number is unambiguous.
const SECONDS = /^\d{10}(?:\.\d{1,9})?$/
const MILLISECONDS = /^\d{13}$/
const DATE = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?(Z|[+-]\d\d:?\d\d)?$/

/** The time in a signed text, in milliseconds: a number of seconds or milliseconds since 1970, or a date. */
export function parseTimestamp(stamp: string): number | undefined {
  if (SECONDS.test(stamp)) return Number(stamp) * 1000
  if (MILLISECONDS.test(stamp)) return Number(stamp)
  const [, date, zone = 'Z'] = DATE.exec(stamp) ?? []
  if (date === undefined) return undefined
  // A date without a time zone is UTC, whatever the zone of this machine.
  const time = Date.parse(date + (zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone))
  return Number.isNaN(time) ? undefined : time
}

/** Why a signed time is rejected; undefined when it is accepted. Clocks may be wrong in either direction. */
export function timestampError(stamp: string, now: number, windowSeconds: number): string | undefined {
  const time = parseTimestamp(stamp)
  if (time === undefined) return 'its time is invalid'
  if (Math.abs(now - time) <= windowSeconds * 1000) return undefined
  return `it was signed more than ${windowSeconds} seconds ${time < now ? 'ago' : 'ahead of our clock'}`
}

/** A time in the form of an earlier one: a date, milliseconds or, by default, seconds. */
export function stampLike(before: string, now: number): string {
  if (MILLISECONDS.test(before)) return String(now)
  return DATE.test(before) ? new Date(now).toISOString() : String(Math.floor(now / 1000))
}
