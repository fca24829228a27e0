import type { IncomingMessage } from 'node:http'
import { Problem } from '#base/errors.ts'

export const MAX_BODY = 1_048_576
const NOTHING = Buffer.alloc(0)

/** The bytes of a body, at most a mebibyte. */
export function bodyBytes(request: IncomingMessage): Promise<Buffer> | Buffer {
  const { 'content-length': announced, 'transfer-encoding': coding } = request.headers
  if (coding === undefined && (announced === undefined || announced === '0')) return NOTHING
  if (Number(announced) > MAX_BODY) throw tooLarge()
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  let length = 0
  request.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length <= MAX_BODY) chunks.push(chunk)
    else reject(tooLarge())
  })
  request.once('end', () => resolve(chunks.length === 1 ? (chunks[0] ?? NOTHING) : Buffer.concat(chunks)))
  request.once('error', () =>
    reject(new Problem('body_unreadable', { reason: 'the connection ended before it' })),
  )
  return promise
}

const tooLarge = () => new Problem('body_too_large', { limit: MAX_BODY })
