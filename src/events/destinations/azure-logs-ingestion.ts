import type { EgressAnswer } from '#base/egress.ts'
import type { Destination, DestinationParts, OutgoingEvent } from '#events/destination.ts'
import { AzureToken } from '#events/destinations/azure-token.ts'
import { refusal, unanswered } from '#events/destinations/failures.ts'
import { sendWithoutOversized } from '#events/destinations/split-oversized.ts'
import { KeepAliveClient } from '#events/destinations/keep-alive-client.ts'
import type { TargetOf } from '#events/destinations/target.ts'

const SERVICE = 'Azure logs ingestion'
const API = '2023-01-01'
const MAX_EVENTS = 1000
const MAX_BODY = 1_000_000
/** For the time that is put into each event, and the comma behind it. */
const ROOM = 64

/** The Logs Ingestion API of Azure Monitor: the columns are the fields of the event, and `TimeGenerated`. */
export function azureLogsIngestion(
  target: TargetOf<'azure_logs_ingestion'>,
  parts: DestinationParts,
): Destination {
  const rule = encodeURIComponent(target.data_collection_rule_id)
  const stream = encodeURIComponent(target.data_collection_stream_name)
  const base = target.logs_ingestion_uri.replace(/\/+$/, '')
  const url = `${base}/dataCollectionRules/${rule}/streams/${stream}?api-version=${API}`
  const token = new AzureToken(target, parts)
  const http = new KeepAliveClient(parts.egress)

  const post = async (body: string, signal: AbortSignal): Promise<EgressAnswer> => {
    const authorization = `Bearer ${(await token.get(signal)).reveal()}`
    const headers = { 'content-type': 'application/json', authorization }
    const answer = await http.post({ url, headers, body, signal })
    if (answer.status === 401) token.forget()
    return answer
  }

  const send = async (body: string, signal: AbortSignal): Promise<void> => {
    try {
      let answer = await post(body, signal)
      // A token can be revoked early: a new one shows whether the client is still valid.
      if (answer.status === 401) answer = await post(body, signal)
      if (answer.status !== 204 && answer.status !== 200) throw refusal(SERVICE, answer, parts.now())
    } catch (error) {
      throw unanswered(SERVICE, error)
    }
  }

  return {
    maxEvents: MAX_EVENTS,
    maxBytes: MAX_BODY - MAX_EVENTS * ROOM,
    send: (batch, signal) =>
      sendWithoutOversized(batch, { most: MAX_BODY - 2 * ROOM, service: SERVICE }, events =>
        send(`[${events.map(withTime).join(',')}]`, signal),
      ),
    close: () => http.close(),
  }
}

/** The envelope is a non-empty object, so a field can be inserted before its first. */
const withTime = ({ at, body }: OutgoingEvent): string =>
  `{"TimeGenerated":${JSON.stringify(at)},${body.slice(body.indexOf('{') + 1)}`
