import { DeliveryError, type OutgoingEvent } from '#events/destination.ts'
import { sizeOf } from '#events/line-event.ts'

export const idsOf = (events: Iterable<OutgoingEvent>): Set<string> =>
  new Set([...events].map(({ id }) => id))

/**
 * Sends all events except those that exceed the service's size limit. When the others were accepted, those alone are
 * left, and fail permanently.
 */
export async function sendWithoutOversized(
  batch: readonly OutgoingEvent[],
  { most, service }: { readonly most: number; readonly service: string },
  send: (events: readonly OutgoingEvent[]) => Promise<void>,
): Promise<void> {
  const fitting = batch.filter(event => sizeOf(event) <= most)
  if (fitting.length > 0) await send(fitting)
  const left = batch.length - fitting.length
  if (left === 0) return
  const message = `${service} accepts events of at most ${most} bytes; ${left} of the batch ${left === 1 ? 'is' : 'are'} larger.`
  throw new DeliveryError(message, { permanent: true, taken: idsOf(fitting) })
}
