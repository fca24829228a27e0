import type { TunnelRecord } from '#registry/directory.ts'
import { carries, labelsOf, textOf } from '#registry/records/keys.ts'
import type { tunnelGroupBackend } from '#contract/kinds/backends.ts'
import type { RowOf } from '#registry/records/source.ts'

/** The tunnels of a group backend. */
export interface TunnelGroup {
  readonly labels: Readonly<Record<string, string>>
  /** Empty: tunnels of all users may join. */
  readonly ownerId: string
}

export const groupOf = (row: RowOf<typeof tunnelGroupBackend>): TunnelGroup => ({
  labels: labelsOf(row),
  ownerId: textOf(row, 'owner_id'),
})

/** Labels are not secret, so a member must also have the same owner. */
export const joins = (
  tunnel: Pick<TunnelRecord, 'labels' | 'ownerId'>,
  { labels, ownerId }: TunnelGroup,
): boolean => carries(tunnel.labels, labels) && (ownerId === '' || tunnel.ownerId === ownerId)
