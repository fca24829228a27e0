import type { Socket } from 'node:net'
import { glanceAtClientHello, MAX_PEEK, type ClientHello, type Glance } from '#gateway/tls/client-hello.ts'

export type Peeked =
  /** `bytes` is all that was read; the socket is paused and they are no longer in it. */
  | { readonly kind: 'hello'; readonly hello: ClientHello; readonly bytes: Buffer }
  | { readonly kind: 'not_tls' | 'malformed'; readonly bytes: Buffer }
  /** The visitor left first. */
  | { readonly kind: 'gone' }

/** Reads until the ClientHello is complete. How long that may take is for the caller, who can destroy the socket. */
export function peekClientHello(socket: Socket): Promise<Peeked> {
  const { promise, resolve } = Promise.withResolvers<Peeked>()
  const pieces: Buffer[] = []
  let size = 0
  let wanted = 1
  const stop = (peeked: Peeked): void => {
    socket.pause()
    socket.off('data', take).off('end', leave).off('close', leave)
    resolve(peeked)
  }
  const leave = (): void => stop({ kind: 'gone' })
  const take = (piece: Buffer): void => {
    pieces.push(piece)
    size += piece.length
    if (size < wanted) return
    const bytes = pieces.length === 1 ? piece : Buffer.concat(pieces)
    const glance: Glance = glanceAtClientHello(bytes)
    if (glance.kind === 'hello') stop({ kind: 'hello', hello: glance.hello, bytes })
    else if (glance.kind !== 'more') stop({ kind: glance.kind, bytes })
    else if (glance.bytes > MAX_PEEK) stop({ kind: 'malformed', bytes })
    else wanted = glance.bytes
  }
  socket.on('data', take).on('end', leave).on('close', leave)
  return promise
}
