import { envelopeParts } from '#contract/events/envelope.ts'
import type { OutgoingEvent } from '#events/destination.ts'

/** An event without an actor. `object` is JSON text, inserted unchanged. */
export function envelope(
  { id, type, at, object }: { id: string; type: string; at: string; object: string },
  accountId: string,
): OutgoingEvent {
  const { beforeId, beforeAt, beforeObject, end } = envelopeParts(type, accountId)
  return { id, type, at, body: beforeId + id + beforeAt + at + beforeObject + object + end }
}
