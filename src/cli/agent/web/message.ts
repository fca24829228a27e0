import zlib from 'node:zlib'

export interface ParsedMessage {
  readonly startLine: string
  readonly headers: Readonly<Record<string, readonly string[]>>
  /** As forwarded, with chunk sizes and encodings. */
  readonly body: Buffer
}

const HEAD_END = '\r\n\r\n'
/** A small body can decompress to a very large one. */
const MAX_DECODED = 8 * 1_048_576

/** Parses a captured message. */
export function readMessage(raw: Buffer): ParsedMessage {
  const end = raw.indexOf(HEAD_END)
  const head = raw.toString('latin1', 0, end === -1 ? raw.length : end)
  const [startLine = '', ...lines] = head.split('\r\n')
  const headers: Record<string, string[]> = Object.create(null) as Record<string, string[]>
  for (const line of lines) {
    const colon = line.indexOf(':')
    if (colon > 0) (headers[canonical(line.slice(0, colon))] ??= []).push(line.slice(colon + 1).trim())
  }
  return { startLine, headers, body: end === -1 ? Buffer.alloc(0) : raw.subarray(end + HEAD_END.length) }
}

/** `content-type` as `Content-Type`, which programs expect. */
const canonical = (name: string): string =>
  name.toLowerCase().replaceAll(/(^|-)[a-z]/g, letter => letter.toUpperCase())

/** The decoded body. If it cannot be decoded it is returned unchanged. */
export function decodedBody({ headers, body }: ParsedMessage): Buffer {
  const isChunked = headers['Transfer-Encoding']?.some(value => /\bchunked\b/i.test(value)) ?? false
  const whole = isChunked ? unchunked(body) : body
  const codings = (headers['Content-Encoding'] ?? []).flatMap(value => value.split(','))
  try {
    return codings
      .map(coding => coding.trim().toLowerCase())
      .toReversed()
      .reduce(decoded, whole)
  } catch {
    return whole
  }
}

function decoded(body: Buffer, coding: string): Buffer {
  // A partially kept body is decoded as far as possible.
  const limits = { maxOutputLength: MAX_DECODED }
  const { constants } = zlib
  if (coding === 'gzip' || coding === 'x-gzip')
    return zlib.gunzipSync(body, { ...limits, finishFlush: constants.Z_SYNC_FLUSH })
  if (coding === 'deflate') return zlib.inflateSync(body, { ...limits, finishFlush: constants.Z_SYNC_FLUSH })
  if (coding === 'br')
    return zlib.brotliDecompressSync(body, { ...limits, finishFlush: constants.BROTLI_OPERATION_FLUSH })
  // Some supported versions of Node lack it; the error leaves the body unchanged.
  if (coding === 'zstd') return zlib.zstdDecompressSync(body, limits)
  return body
}

function unchunked(body: Buffer): Buffer {
  const pieces: Buffer[] = []
  let at = 0
  for (;;) {
    const end = body.indexOf('\r\n', at)
    const size = end === -1 ? Number.NaN : Number.parseInt(body.toString('latin1', at, end), 16)
    if (!(size > 0)) return Buffer.concat(pieces)
    pieces.push(body.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}
