import type { Socket } from 'node:net'
import { problemBody } from '#api/problems.ts'
import { Problem } from '#base/errors.ts'
import { newId } from '#base/ids.ts'

/** Responds to invalid HTTP with an API error, and closes the connection. */
export function answerMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const problem =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Problem('headers_too_large', {})
      : new Problem('bad_request', { reason: error.code ?? 'unknown' })
  const body = problemBody(problem, 'ADIT', newId('op'))
  const head = [
    `HTTP/1.1 ${problem.status} Refused`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
