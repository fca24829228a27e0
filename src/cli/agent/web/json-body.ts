import type { IncomingMessage } from 'node:http'
import { ApiFailure } from '#cli/agent/web/api-failure.ts'

const MAX_BYTES = 16 * 1_048_576

/** Parses a JSON body. Other types are rejected, because a page of another site can send those without a preflight. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const [type = ''] = (request.headers['content-type'] ?? '').split(';')
  if (type.trim().toLowerCase() !== 'application/json')
    throw new ApiFailure('media_type', 'the Content-Type must be application/json')
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request) {
    size += (piece as Buffer).length
    if (size > MAX_BYTES) throw new ApiFailure('too_large', `a body may have ${MAX_BYTES} bytes`)
    pieces.push(piece as Buffer)
  }
  try {
    return JSON.parse(Buffer.concat(pieces).toString()) as unknown
  } catch {
    throw new ApiFailure('bad_request', 'the body is not JSON')
  }
}
