import type { Socket } from 'node:net'
import { parseClientHello, MAX_PEEK, type ClientHello, type ClientHelloResult } from '#tls/client-hello.ts'
import { readFirst } from '#tunnel/socket-reads.ts'

/** `bytes` is all that was read; the socket is paused and no longer contains them. */
export interface PeekedHello {
  readonly kind: 'hello'
  readonly hello: ClientHello
  readonly bytes: Buffer
}

type Peeked =
  | PeekedHello
  | { readonly kind: 'not_tls' | 'malformed'; readonly bytes: Buffer }
  /** The client disconnected first. */
  | { readonly kind: 'gone' }

/** Reads until the ClientHello is complete. The caller limits the time by destroying the socket. */
export function peekClientHello(socket: Socket): Promise<Peeked> {
  const { promise, resolve } = Promise.withResolvers<Peeked>()
  const leave = (): void => resolve({ kind: 'gone' })
  let read: Buffer | undefined
  let wanted = 1
  socket.on('end', leave).on('close', leave)
  readFirst(socket, bytes => {
    read = read === undefined ? bytes : Buffer.concat([read, bytes])
    if (read.length < wanted) return false
    const parsed: ClientHelloResult = parseClientHello(read)
    if (parsed.kind === 'more' && parsed.bytes <= MAX_PEEK) {
      wanted = parsed.bytes
      return false
    }
    socket.off('end', leave).off('close', leave)
    if (parsed.kind === 'hello') resolve({ kind: 'hello', hello: parsed.hello, bytes: read })
    else resolve({ kind: parsed.kind === 'more' ? 'malformed' : parsed.kind, bytes: read })
    return true
  })
  return promise
}
