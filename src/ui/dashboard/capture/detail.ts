import { toBase64 } from '#ui/bytes.ts'
import type { CapturedBody, Detail, Headers } from '#ui/captured.ts'
import { bodyBytes, decodedBody } from '#ui/dashboard/capture/decode.ts'
import type { EndedRequest } from '#contract/request-responder.ts'
import { totalMs } from '#ui/dashboard/traffic/request-text.ts'
import type { api } from '#ui/dashboard/api.ts'

export type ShownCapture = Awaited<ReturnType<typeof api.requests.capture>>
export type ShownMessage = Omit<ShownCapture['request'], 'method' | 'target'>

const NANOSECONDS = 1_000_000

/** Names of HTTP/2 are in lower case; one form makes them comparable. */
const usualCase = (name: string): string =>
  name.toLowerCase().replaceAll(/(^|-)[a-z]/g, letter => letter.toUpperCase())

function headersOf({ headers }: ShownMessage): Headers {
  const all: Record<string, string[]> = {}
  for (const { name, value } of headers) (all[usualCase(name)] ??= []).push(value)
  return all
}

async function bodyOf(message: ShownMessage): Promise<CapturedBody> {
  const { bytes } = await decodedBody(message)
  return { base64: toBase64(bytes), size: message.body_bytes, truncated: message.truncated }
}

const rawOf = (first: string, message: ShownMessage): string => {
  const head = [first, ...message.headers.map(({ name, value }) => `${name}: ${value}`), '', ''].join('\r\n')
  const [start, body] = [new TextEncoder().encode(head), bodyBytes(message)]
  const all = new Uint8Array(start.length + body.length)
  all.set(start)
  all.set(body, start.length)
  return toBase64(all)
}

/** A capture in the form that the inspector of agents shares: as curl, as HAR, for the diff. Bodies are decompressed. */
export async function asDetail(request: EndedRequest, capture: ShownCapture): Promise<Detail> {
  const { request: sent, response } = capture
  const proto = `HTTP/${request.http_version ?? '1.1'}`
  const status = response === null ? '' : `${response.status} ${response.reason}`.trim()
  return {
    id: request.id,
    tunnel_name: request.tunnel_id ?? '',
    remote_addr: request.ip,
    start: request.started_at,
    duration: totalMs(request) * NANOSECONDS,
    first_byte: (request.modules_ms + (request.backend_ms ?? 0)) * NANOSECONDS,
    complete: capture.complete,
    url: `${request.scheme}://${request.host}${sent.target}`,
    request: {
      method: sent.method,
      proto,
      headers: headersOf(sent),
      uri: sent.target,
      raw: rawOf(`${sent.method} ${sent.target} ${proto}`, sent),
    },
    response: response && {
      status,
      status_code: response.status,
      proto,
      headers: headersOf(response),
      raw: rawOf(`${proto} ${status}`, response),
    },
    bodies: { request: await bodyOf(sent), response: response && (await bodyOf(response)) },
  }
}
