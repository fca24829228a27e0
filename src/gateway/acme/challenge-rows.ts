import type { SourceRow } from '#registry/records/source.ts'
import { textOf } from '#registry/records/keys.ts'

/** The newest of some challenges that is about a name and not over; undefined when there is none. */
export function openChallenge(rows: readonly SourceRow[], name: string, now: number): SourceRow | undefined {
  return rows.findLast(row => textOf(row, 'name') === name && isOpen(row, now))
}

/** A date that cannot be read is long ago: then nothing is answered. */
const isOpen = ({ body }: SourceRow, now: number): boolean => {
  const until = body['expires_at']
  return (typeof until === 'string' ? Date.parse(until) : Number(until)) > now
}
