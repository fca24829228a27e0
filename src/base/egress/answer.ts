import type { IncomingMessage } from 'node:http'
import { EgressError, type EgressAnswer } from '#base/egress.ts'

/** Reads a whole response; one of more than `maxBytes` is an error. */
export async function readAnswer(answer: IncomingMessage, maxBytes: number): Promise<EgressAnswer> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of answer as AsyncIterable<Buffer>) {
    size += piece.length
    if (size > maxBytes)
      throw new EgressError(`The response has more than ${maxBytes} bytes.`, { code: 'too_large' })
    pieces.push(piece)
  }
  const headers = Object.entries(answer.headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : (value ?? ''),
  ])
  return {
    status: answer.statusCode ?? 0,
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: Buffer.concat(pieces),
  }
}
