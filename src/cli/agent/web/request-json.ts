import type { CapturedMessage, CapturedExchange } from '#agent/capture/exchange.ts'
import { decodedBody, readMessage, type ParsedMessage } from '#cli/agent/web/message.ts'

const NANOSECONDS = 1_000_000

/** The address of a client without its port. */
const ipOf = (address: string): string => address.replace(/^\[?(.*?)\]?:\d+$/, '$1')

const nanoseconds = (milliseconds: number): number => Math.round(milliseconds * NANOSECONDS)

/** An exchange in the form of `/api/requests/http`. */
export const requestJson = (exchange: CapturedExchange): object => ({
  uri: `/api/requests/http/${exchange.id}`,
  id: exchange.id,
  tunnel_name: exchange.tunnelName,
  remote_addr: ipOf(exchange.clientAddr),
  start: new Date(exchange.startedAt).toISOString(),
  duration: nanoseconds(exchange.durationMs ?? Date.now() - exchange.startedAt),
  request: requestPart(exchange),
  response: exchange.status === undefined ? null : responsePart(exchange),
})

/** The same with decoded bodies and further details for the inspector. */
export const detailJson = (exchange: CapturedExchange): object => ({
  ...requestJson(exchange),
  ...(exchange.replayOf !== undefined && { replay_of: exchange.replayOf }),
  first_byte: exchange.firstByteMs === undefined ? null : nanoseconds(exchange.firstByteMs),
  complete: exchange.isComplete,
  bodies: {
    request: bodyPart(exchange.request),
    response: exchange.status === undefined ? null : bodyPart(exchange.response),
  },
})

/** What a row of the inspector's list shows. */
export function summaryJson(exchange: CapturedExchange): object {
  const { startLine } = readMessage(exchange.request.head)
  const [method = '', uri = ''] = startLine.split(' ')
  return {
    id: exchange.id,
    tunnel_name: exchange.tunnelName,
    start: new Date(exchange.startedAt).toISOString(),
    method,
    uri,
    status_code: exchange.status ?? null,
    duration: exchange.durationMs === undefined ? null : nanoseconds(exchange.durationMs),
    complete: exchange.isComplete,
    response_size: exchange.response.size,
    replay_of: exchange.replayOf ?? null,
  }
}

function requestPart({ request }: CapturedExchange): object {
  const { raw } = request
  const { startLine, headers } = readMessage(raw)
  const [method = '', uri = '', proto = ''] = startLine.split(' ')
  return { method, proto, headers, uri, raw: raw.toString('base64') }
}

function responsePart({ response, status }: CapturedExchange): object {
  const { raw } = response
  const { startLine, headers } = readMessage(raw)
  const [, proto = '', text = ''] = /^(\S+) (.*)$/.exec(startLine) ?? []
  return { status: text, status_code: status, proto, headers, raw: raw.toString('base64') }
}

function bodyPart(captured: CapturedMessage): object {
  const message: ParsedMessage = readMessage(captured.raw)
  return {
    base64: decodedBody(message).toString('base64'),
    size: captured.size - (captured.raw.length - message.body.length),
    truncated: captured.isTruncated,
  }
}
