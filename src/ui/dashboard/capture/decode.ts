import { fromBase64 } from '#ui/bytes.ts'

/** A captured message, as far as its body needs it. */
interface EncodedMessage {
  readonly headers: readonly { readonly name: string; readonly value: string }[]
  readonly body: string
  readonly body_encoding: 'text' | 'base64'
  readonly truncated: boolean
}

/** Decompressed bodies are cut here: a small body can become very large. */
const MAX_DECODED = 8_388_608

export const bodyBytes = ({ body, body_encoding: encoding }: EncodedMessage): Uint8Array<ArrayBuffer> =>
  encoding === 'base64' ? fromBase64(body) : new TextEncoder().encode(body)

export const headerOf = ({ headers }: Pick<EncodedMessage, 'headers'>, wanted: string): string =>
  headers.find(({ name }) => name.toLowerCase() === wanted)?.value ?? ''

export interface DecodedBody {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** What was removed, or could not be; undefined for a body without a content coding. */
  readonly note?: string
}

/** The body without its content coding. The coded bytes stay where the browser cannot decode them. */
export async function decodedBody(message: EncodedMessage): Promise<DecodedBody> {
  const bytes = bodyBytes(message)
  const coding = headerOf(message, 'content-encoding').trim().toLowerCase()
  if (coding === '' || coding === 'identity' || bytes.length === 0) return { bytes }
  try {
    const format = (coding === 'br' ? 'brotli' : coding.replace(/^x-/, '')) as CompressionFormat
    return {
      bytes: await readAll(new DecompressionStream(format), bytes),
      note: `decompressed from ${coding}`,
    }
  } catch {
    return { bytes, note: `${coding}, which this browser cannot decompress` }
  }
}

/** What a truncated body contains before it breaks off is kept. */
async function readAll(
  decoder: DecompressionStream,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  const reader = new Blob([bytes]).stream().pipeThrough(decoder).getReader()
  try {
    for (let next = await reader.read(); !next.done && size < MAX_DECODED; next = await reader.read()) {
      parts.push(next.value)
      size += next.value.length
    }
    await reader.cancel()
  } catch (error) {
    if (size === 0) throw error
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer())
}
