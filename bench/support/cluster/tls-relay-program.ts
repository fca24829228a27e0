import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import { answerJobs } from '../answer-jobs.ts'

/** A relay of connections with nothing but `pipe`: the minimum for a hop with node:tls. */
export interface TlsRelayJob {
  /** Absent: it accepts plain connections. */
  readonly identity?: { readonly cert: string; readonly key: string }
  readonly target: { readonly port: number; readonly tls: boolean }
}

export interface TlsRelayAnswer {
  readonly port: number
}

const ciphers = 'TLS_AES_128_GCM_SHA256'

async function relay({ identity, target: { port, tls } }: TlsRelayJob): Promise<TlsRelayAnswer> {
  const to = { port, host: '127.0.0.1', noDelay: true }
  const accept = (socket: Socket): void => {
    const next = tls ? connectTls({ ...to, ciphers, rejectUnauthorized: false }) : connect(to)
    socket.pipe(next).pipe(socket)
    socket.on('error', () => undefined).on('close', () => next.destroy())
    next.on('error', () => undefined).on('close', () => socket.destroy())
  }
  const server = identity
    ? createTlsServer({ ...identity, ciphers, noDelay: true }, accept)
    : createServer({ noDelay: true }, accept)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { port: (server.address() as AddressInfo).port }
}

answerJobs(relay)
