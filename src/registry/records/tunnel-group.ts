import type { TunnelRecord } from '#registry/directory.ts'
import { carries, labelsOf, textOf } from '#registry/records/keys.ts'
import type { SourceRow } from '#registry/records/source.ts'

/** The tunnels that a backend shares traffic among. */
export interface TunnelGroup {
  readonly labels: Readonly<Record<string, string>>
  /** Empty: tunnels of all users may join. */
  readonly ownerId: string
}

export const groupOf = (row: SourceRow): TunnelGroup => ({
  labels: labelsOf(row),
  ownerId: textOf(row, 'owner_id'),
})

/** Labels are no secret, so they alone do not make a tunnel a member: it must be of the owner too. */
export const joins = (
  tunnel: Pick<TunnelRecord, 'labels' | 'ownerId'>,
  { labels, ownerId }: TunnelGroup,
): boolean => carries(tunnel.labels, labels) && (ownerId === '' || tunnel.ownerId === ownerId)
