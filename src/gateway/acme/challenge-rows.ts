import type { SourceRow } from '#registry/records/source.ts'
import { textOf } from '#registry/records/keys.ts'

/** The newest pending challenge for a name; undefined when there is none. */
export function openChallenge(rows: readonly SourceRow[], name: string, now: number): SourceRow | undefined {
  return rows.findLast(row => textOf(row, 'name') === name && isOpen(row, now))
}

/** An invalid date counts as expired, so the challenge gets no response. */
const isOpen = ({ body }: SourceRow, now: number): boolean => {
  const until = body['expires_at']
  return (typeof until === 'string' ? Date.parse(until) : Number(until)) > now
}
