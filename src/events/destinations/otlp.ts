import type { EgressAnswer } from '#base/egress.ts'
import { attribute, headerVerdict, nanoseconds, rejectedIn, signalAddress } from '#base/otlp.ts'
import {
  DeliveryError,
  type Destination,
  type DestinationParts,
  type OutgoingEvent,
} from '#events/destination.ts'
import { refusal, unanswered, unusable } from '#events/destinations/failures.ts'
import { KeepAliveClient } from '#events/destinations/keep-alive-client.ts'
import type { TargetOf } from '#events/destinations/target.ts'

const SERVICE = 'The OTLP collector'
const PATH = '/v1/logs'
const MAX_EVENTS = 512
const MAX_BYTES = 1_048_576
const INFO = { severityNumber: 9, severityText: 'INFO' }

const resource = { attributes: [attribute('service.name', 'adit')] }
const scope = { name: 'adit.events' }

/** Log records of OpenTelemetry, as JSON over HTTP. */
export function otlp({ endpoint, headers }: TargetOf<'otlp'>, parts: DestinationParts): Destination {
  const url = signalAddress(endpoint, PATH)
  const http = new KeepAliveClient(parts.egress)
  const given = checked(headers)
  return {
    maxEvents: MAX_EVENTS,
    maxBytes: MAX_BYTES,
    async send(batch, signal) {
      const logRecords = batch.map(event => recordOf(event, parts.now()))
      const body = JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords }] }] })
      const sent = { ...given, 'content-type': 'application/json' }
      const answer = await http.post({ url, headers: sent, body, signal }).catch((error: unknown) => {
        throw unanswered(SERVICE, error)
      })
      if (answer.status < 200 || answer.status > 299) throw refusal(SERVICE, answer, parts.now())
      checkPartial(answer, batch.length)
    },
    close: () => http.close(),
  }
}

/** Only valid headers; their values are never reported. */
function checked(headers: Readonly<Record<string, string>> | null): Record<string, string> {
  const given = Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value] as const)
  for (const [name, value] of given) {
    const verdict = headerVerdict(name, value)
    if (verdict === 'invalid')
      throw unusable(
        'A header of the OTLP destination cannot be sent: it has a character that is not allowed in headers.',
      )
    if (verdict === 'reserved') throw unusable(`The header ${name} of the OTLP destination cannot be set.`)
  }
  return Object.fromEntries(given)
}

function recordOf({ id, type, at, body }: OutgoingEvent, now: number) {
  const time = Date.parse(at)
  return {
    timeUnixNano: nanoseconds(Number.isNaN(time) ? now : time),
    observedTimeUnixNano: nanoseconds(now),
    ...INFO,
    eventName: type,
    body: { stringValue: body },
    attributes: [attribute('event.id', id), attribute('event.name', type)],
  }
}

/**
 * The collector reports how many records it rejected, but not which, and forbids a retry. So all of them fail
 * permanently: duplicates are better than a loss.
 */
function checkPartial({ body }: EgressAnswer, count: number): void {
  const rejected = rejectedIn(body.toString(), 'rejectedLogRecords')
  if (rejected === undefined) throw new DeliveryError(`${SERVICE} sent a response that is not JSON.`)
  if (rejected > 0)
    throw new DeliveryError(`${SERVICE} rejected ${rejected} of ${count} records and does not name them.`, {
      permanent: true,
    })
}
