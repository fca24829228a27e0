import type { Socket } from 'node:net'
import { glanceAtClientHello, MAX_PEEK, type ClientHello, type Glance } from '#tls/client-hello.ts'
import { readFirst } from '#tunnel/socket-reads.ts'

/** `bytes` is all that was read; the socket is paused and no longer contains them. */
export interface PeekedHello {
  readonly kind: 'hello'
  readonly hello: ClientHello
  readonly bytes: Buffer
}

export type Peeked =
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
    const glance: Glance = glanceAtClientHello(read)
    if (glance.kind === 'more' && glance.bytes <= MAX_PEEK) {
      wanted = glance.bytes
      return false
    }
    socket.off('end', leave).off('close', leave)
    if (glance.kind === 'hello') resolve({ kind: 'hello', hello: glance.hello, bytes: read })
    else resolve({ kind: glance.kind === 'more' ? 'malformed' : glance.kind, bytes: read })
    return true
  })
  return promise
}
