import { asText, fromBase64 } from '#ui/bytes.ts'
import { header, type CapturedBody, type Detail, type Headers } from '#ui/captured.ts'

const pairs = (headers: Headers): object[] =>
  Object.entries(headers).flatMap(([name, values]) => values.map(value => ({ name, value })))

const milliseconds = (nanoseconds: number): number => nanoseconds / 1_000_000

/** The exchanges in the HTTP Archive format, version 1.2. */
export const asHar = (details: readonly Detail[]): object => ({
  log: { version: '1.2', creator: { name: 'adit', version: '1' }, entries: details.map(entry) },
})

function entry(detail: Detail): object {
  const { request, response, bodies, duration, first_byte: first, start, remote_addr: address } = detail
  const wait = milliseconds(first ?? duration)
  return {
    startedDateTime: start,
    time: milliseconds(duration),
    request: {
      method: request.method,
      url: urlOf(detail),
      httpVersion: request.proto,
      cookies: [],
      headers: pairs(request.headers),
      queryString: [...new URL(urlOf(detail)).searchParams].map(([name, value]) => ({ name, value })),
      headersSize: -1,
      bodySize: bodies.request.size,
      ...(bodies.request.size > 0 && { postData: postData(request.headers, bodies.request) }),
    },
    response: {
      status: response?.status_code ?? 0,
      statusText: response?.status.replace(/^\d+ ?/, '') ?? '',
      httpVersion: response?.proto ?? '',
      cookies: [],
      headers: pairs(response?.headers ?? {}),
      content: content(response?.headers ?? {}, bodies.response),
      redirectURL: header(response?.headers ?? {}, 'Location'),
      headersSize: -1,
      bodySize: bodies.response?.size ?? -1,
    },
    cache: {},
    timings: { send: 0, wait, receive: Math.max(0, milliseconds(duration) - wait) },
    _clientAddress: address,
    _tunnel: detail.tunnel_name,
  }
}

function urlOf({ request, url: known }: Detail): string {
  const host = header(request.headers, 'X-Forwarded-Host') || header(request.headers, 'Host') || 'localhost'
  const url = known ?? `${header(request.headers, 'X-Forwarded-Proto') || 'http'}://${host}${request.uri}`
  return URL.canParse(url) ? url : 'http://localhost/'
}

function postData(headers: Headers, body: CapturedBody): object {
  const text = asText(fromBase64(body.base64))
  const mimeType = header(headers, 'Content-Type')
  return text === undefined ? { mimeType, text: body.base64, _encoding: 'base64' } : { mimeType, text }
}

function content(headers: Headers, body: CapturedBody | null): object {
  const mimeType = header(headers, 'Content-Type')
  if (body === null) return { size: 0, mimeType }
  const bytes = fromBase64(body.base64)
  const text = asText(bytes)
  return text === undefined
    ? { size: bytes.length, mimeType, text: body.base64, encoding: 'base64' }
    : { size: bytes.length, mimeType, text }
}
