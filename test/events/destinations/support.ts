import assert from 'node:assert/strict'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { createEgress } from '#base/egress-client.ts'
import { createLog } from '#base/log.ts'
import {
  DeliveryError,
  type Destination,
  type DestinationParts,
  type OutgoingEvent,
} from '#events/destination.ts'
import { loopback, web } from '../../base/egress/support.ts'
import { type Listening } from '../../support/net.ts'

/** In every secret of these tests: no error may hold it. */
export const SECRET_MARK = 'MARKEDSECRET'
export const NOW = Date.parse('2026-11-15T10:00:00Z')

export const partsWith = (parts: Partial<DestinationParts> = {}): DestinationParts => ({
  egress: createEgress({ allow: loopback }),
  dataDir: '/nonexistent',
  log: createLog('silent'),
  now: () => NOW,
  endpoints: {},
  ...parts,
})

export function event(
  id: string,
  more: Partial<OutgoingEvent> & { readonly pad?: number } = {},
): OutgoingEvent {
  const { pad = 0, ...given } = more
  const type = given.type ?? 'ip_policy_created.v0'
  const at = given.at ?? '2026-11-15T09:59:00.123456789Z'
  const envelope = {
    event_id: id,
    event_type: type,
    event_timestamp: at,
    object: { text: 'ä"\n', pad: 'x'.repeat(pad) },
  }
  return { id, type, at, body: given.body ?? JSON.stringify(envelope) }
}

export const events = (count: number): OutgoingEvent[] =>
  Array.from({ length: count }, (_, at) => event(`ev_${at}`))

export const send = (destination: Destination, batch: readonly OutgoingEvent[]): Promise<void> =>
  destination.send(batch, new AbortController().signal)

/** The error of a batch that must not be accepted as a whole. It contains no secret. */
export async function refused(sending: Promise<void>): Promise<DeliveryError> {
  const error = await sending.then(
    () => assert.fail('the batch was taken'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof DeliveryError, String(error))
  for (let reported: unknown = error; reported instanceof Error; reported = reported.cause)
    assert.ok(
      !`${reported.message} ${JSON.stringify(reported)} ${reported.stack ?? ''}`.includes(SECRET_MARK),
      reported.message,
    )
  return error
}

export interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export type Answer = (seen: Seen, response: ServerResponse) => void

/** A service on this machine that records its requests. */
export async function service(
  answer: Answer,
): Promise<Listening & { readonly url: string; readonly seen: Seen[] }> {
  const seen: Seen[] = []
  const local = await web((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      const one = { method, path, headers, body: Buffer.concat(pieces) }
      seen.push(one)
      answer(one, response)
    })
  })
  return { ...local, url: `http://127.0.0.1:${local.port}`, seen }
}

export const json = (response: ServerResponse, status: number, content: unknown): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content))
