import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import { printable } from '#cli/printable.ts'
import type { EndedRequest } from '#contract/request-responder.ts'
import type { requestCapture, CapturedRequestView } from '#contract/kinds/request-capture.ts'
import type { View } from '#contract/shape.ts'

export type CaptureView = View<typeof requestCapture>
type Message = Pick<CapturedRequestView, 'headers' | 'body' | 'body_encoding' | 'body_bytes' | 'truncated'>

/** Of a decompressed body; a few bytes may expand to far more. */
const MAX_DECODED = 8_388_608

const decoders: Readonly<Record<string, (bytes: Buffer, options: { maxOutputLength: number }) => Buffer>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
}

const bytesOf = ({ body, body_encoding: encoding }: Message): Buffer =>
  Buffer.from(body, encoding === 'base64' ? 'base64' : 'utf8')

/** The body without its content coding; as it is when that cannot be decoded. */
function decoded(message: Message): Buffer {
  const bytes = bytesOf(message)
  const coding = message.headers.find(({ name }) => name.toLowerCase() === 'content-encoding')?.value
  const decode = decoders[coding?.trim().toLowerCase() ?? '']
  try {
    return decode?.(bytes, { maxOutputLength: MAX_DECODED }) ?? bytes
  } catch {
    return bytes
  }
}

function bodyText(message: Message): string {
  const bytes = decoded(message)
  const text = bytes.toString()
  const shown = text.includes('\uFFFD') || text.includes('\0') ? `(${bytes.length} bytes, not text)` : text
  const note = message.truncated ? `(captured ${bytesOf(message).length} of ${message.body_bytes} bytes)` : ''
  return [shown, note].filter(part => part !== '').join('\n')
}

const messageText = (first: string, message: Message): string =>
  [first, ...message.headers.map(({ name, value }) => `${name}: ${value}`), '', bodyText(message)]
    .join('\n')
    .trimEnd()

/** Both messages, as people read them. */
export function captureText({ request, response }: CaptureView): string {
  const sent = messageText(`${request.method} ${request.target}`, request)
  const got = response ? messageText(`${response.status} ${response.reason}`, response) : 'No response yet.'
  return printable(`${sent}\n\n${got}\n`)
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** Set by curl itself. */
const OMITTED = new Set(['host', 'content-length', 'adit-replay-of'])

/** The request as a command for a shell. Masked headers are left for the reader to fill in. */
export function captureCurl({ request }: CaptureView, { scheme, host }: EndedRequest): string {
  const authority = request.headers.find(({ name }) => name === 'host')?.value ?? host
  const lines = [`curl ${quoted(`${scheme}://${authority}${request.target}`)}`]
  if (request.method !== 'GET') lines.push(`-X ${quoted(request.method)}`)
  for (const { name, value } of request.headers)
    if (!OMITTED.has(name.toLowerCase())) lines.push(`-H ${quoted(`${name}: ${value}`)}`)
  const { body, body_encoding: encoding } = request
  if (body === '') return printable(`${lines.join(' \\\n  ')}\n`)
  if (encoding === 'text') return printable(`${[...lines, `--data-raw ${quoted(body)}`].join(' \\\n  ')}\n`)
  return printable(
    `printf %s ${quoted(body)} | base64 -d | ${[...lines, '--data-binary @-'].join(' \\\n  ')}\n`,
  )
}
