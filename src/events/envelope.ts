import type { OutgoingEvent } from '#events/destination.ts'

/** The event that leaves for something that nobody in particular has done. `object` is JSON text, passed on as it is. */
export function envelope(
  { id, type, at, object }: { id: string; type: string; at: string; object: string },
  accountId: string,
): OutgoingEvent {
  const body = `{"event_id":"${id}","event_type":"${type}","event_timestamp":"${at}","account_id":"${accountId}","object":${object}}`
  return { id, type, at, body }
}
