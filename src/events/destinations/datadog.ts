import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Destination, DestinationParts, OutgoingEvent } from '#events/destination.ts'
import { refusal, unanswered, unusable } from '#events/destinations/failures.ts'
import { sendWithoutOversized } from '#events/destinations/split-oversized.ts'
import { KeepAliveClient } from '#events/destinations/keep-alive-client.ts'
import type { TargetOf } from '#events/destinations/target.ts'

const SERVICE = 'Datadog'
const SITE = 'datadoghq.com'
const MAX_EVENTS = 1000
const MAX_ENTRY = 1_000_000
const MAX_BODY = 5_000_000
/** Of the body, for what is around the events; escaped quotes can double their length. */
const ROOM = 1_000_000
const GZIP_FROM = 1024
const compressed = promisify(gzip)

/** Datadog's log intake. The event is the message, which Datadog parses as JSON. */
export function datadog(target: TargetOf<'datadog'>, parts: DestinationParts): Destination {
  const site = target.ddsite || SITE
  if (!/^[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63}){1,5}$/i.test(site))
    throw unusable('The Datadog site is not a name such as datadoghq.eu.')
  const url = `${parts.endpoints['datadog'] ?? `https://http-intake.logs.${site}`}/api/v2/logs`
  const http = new KeepAliveClient(parts.egress)
  const common = {
    ddsource: 'adit',
    ...(target.ddtags && { ddtags: target.ddtags }),
    service: target.service || 'adit',
  }
  const headers = { 'content-type': 'application/json', 'dd-api-key': target.api_key }
  const entry = ({ body, at }: OutgoingEvent): string =>
    JSON.stringify({ ...common, date: at, message: body })

  const post = async (entries: readonly string[], signal: AbortSignal): Promise<void> => {
    const text = `[${entries.join(',')}]`
    const isLong = text.length >= GZIP_FROM
    const answer = await http
      .post({
        url,
        headers: { ...headers, ...(isLong && { 'content-encoding': 'gzip' }) },
        body: isLong ? await compressed(text) : text,
        signal,
      })
      .catch((error: unknown) => {
        throw unanswered(SERVICE, error)
      })
    if (answer.status !== 202 && answer.status !== 200) throw refusal(SERVICE, answer, parts.now())
  }

  const around = Buffer.byteLength(entry({ id: '', type: '', at: '', body: '' })) + 64
  return {
    maxEvents: Math.min(MAX_EVENTS, Math.floor(ROOM / around)),
    maxBytes: (MAX_BODY - ROOM) / 2,
    send: (batch, signal) =>
      sendWithoutOversized(batch, { most: Math.floor((MAX_ENTRY - around) / 2), service: SERVICE }, events =>
        post(events.map(entry), signal),
      ),
    close: () => http.close(),
  }
}
