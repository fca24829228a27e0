import { envelopeParts } from '#contract/events/envelope.ts'
import type { OutgoingEvent } from '#events/destination.ts'

/** The event that leaves for something that nobody in particular has done. `object` is JSON text, passed on as it is. */
export function envelope(
  { id, type, at, object }: { id: string; type: string; at: string; object: string },
  accountId: string,
): OutgoingEvent {
  const { beforeId, beforeAt, beforeObject, end } = envelopeParts(type, accountId)
  return { id, type, at, body: beforeId + id + beforeAt + at + beforeObject + object + end }
}
