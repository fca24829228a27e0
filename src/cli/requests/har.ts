import type { CaptureView } from '#cli/requests/capture-text.ts'
import type { EndedRequest } from '#contract/request-responder.ts'

type Headers = CaptureView['request']['headers']

const versionOf = ({ http_version: version }: EndedRequest): string => `HTTP/${version ?? '1.1'}`
const valueOf = (headers: Headers, wanted: string): string | undefined =>
  headers.find(({ name }) => name.toLowerCase() === wanted)?.value
const typeIn = (headers: Headers): string => valueOf(headers, 'content-type') ?? ''

function requestOf({ request }: CaptureView, shown: EndedRequest): object {
  const { method, headers, body } = request
  const url = `${shown.scheme}://${valueOf(headers, 'host') ?? shown.host}${request.target}`
  const query = URL.parse(url)?.searchParams ?? new URLSearchParams()
  // HAR has no encoding for request bodies, so only text is included.
  const isShown = body !== '' && request.body_encoding === 'text'
  return {
    method,
    url,
    httpVersion: versionOf(shown),
    cookies: [],
    headers,
    queryString: [...query].map(([name, value]) => ({ name, value })),
    headersSize: -1,
    bodySize: request.body_bytes,
    ...(isShown && { postData: { mimeType: typeIn(headers), text: body } }),
  }
}

function responseOf({ response }: CaptureView, shown: EndedRequest): object {
  const headers = response?.headers ?? []
  return {
    status: response?.status ?? 0,
    statusText: response?.reason ?? '',
    httpVersion: versionOf(shown),
    cookies: [],
    headers,
    content: {
      size: response?.body_bytes ?? 0,
      mimeType: typeIn(headers),
      text: response?.body ?? '',
      ...(response?.body_encoding === 'base64' && { encoding: 'base64' }),
    },
    redirectURL: '',
    headersSize: -1,
    bodySize: response?.body_bytes ?? -1,
  }
}

/** The capture as an HTTP archive (HAR 1.2) with one entry. */
export function harOf(capture: CaptureView, shown: EndedRequest): object {
  const [send, wait, receive] = [shown.modules_ms, shown.backend_ms ?? 0, shown.content_ms ?? 0]
  const entry = {
    startedDateTime: shown.started_at,
    time: send + wait + receive,
    request: requestOf(capture, shown),
    response: responseOf(capture, shown),
    cache: {},
    timings: { send, wait, receive },
  }
  return { log: { version: '1.2', creator: { name: 'adit', version: '2' }, entries: [entry] } }
}
