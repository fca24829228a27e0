import type { IncomingMessage } from 'node:http'
import { EgressError, type EgressAnswer } from '#base/egress.ts'

/** Reads a whole response; one of more than `maxBytes` is an error. */
export function readAnswer(answer: IncomingMessage, maxBytes: number): Promise<EgressAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<EgressAnswer>()
  const pieces: Buffer[] = []
  let size = 0
  // An iterator would cost more than the rest of a small response.
  answer.on('data', (piece: Buffer) => {
    size += piece.length
    pieces.push(piece)
    if (size > maxBytes)
      answer.destroy(new EgressError(`The response has more than ${maxBytes} bytes.`, { code: 'too_large' }))
  })
  answer.on('error', reject)
  answer.once('end', () =>
    resolve({ status: answer.statusCode ?? 0, headers: headersOf(answer), body: Buffer.concat(pieces) }),
  )
  return promise
}

const headersOf = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value = '']) => [
      name,
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  )
