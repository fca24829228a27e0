import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { buffer } from 'node:stream/consumers'
import type { Log } from '#base/log.ts'
import type { HttpClientConnection } from '#http/exchange.ts'
import { Admission } from '#gateway/listeners/admission.ts'
import type { L4Upstream } from '#gateway/listeners/l4-proxy.ts'
import { HttpsListener, type HttpsListenerOptions } from '#gateway/listeners/https.ts'
import type { ServedHttp } from '#gateway/listeners/open-http.ts'
import { splice } from '#tunnel/splice.ts'
import { Certificates, defaultNames, type CertificatesOptions } from '#tls/certificates.ts'
import { LocalAuthority, makeLocalRoot } from '#pki/local-authority.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import { sessionPair } from '../../tunnel/support.ts'
import { testLog } from '../../support/secrets.ts'

export const log: Log = testLog()
export const HOST = '127.0.0.1'

export const newAuthority = async (): Promise<LocalAuthority> =>
  LocalAuthority.open(await makeLocalRoot('test root'))

export async function newCertificates(
  options: Partial<CertificatesOptions> = {},
): Promise<{ authority: LocalAuthority; certificates: Certificates }> {
  const authority = await newAuthority()
  const certificates = await Certificates.create({
    authority,
    names: defaultNames('adit.localhost', [HOST]),
    uploaded: () => undefined,
    serves: () => false,
    log,
    ...options,
  })
  return { authority, certificates }
}

/** A program behind an agent. */
export async function startUpstream(serve: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, socket => {
    socket.on('error', () => undefined)
    serve(socket)
  })
  await once(server.listen(0, HOST), 'listening')
  return server
}

export const portOf = (server: Pick<Server, 'address'>): number => (server.address() as AddressInfo).port

/** An upstream through a tunnel to a port of this machine. */
export function tunnelTo(port: number, more: Partial<L4Upstream> = {}): L4Upstream {
  const { gateway } = sessionPair(
    {},
    { accept: (_, stream) => splice(connect({ host: HOST, port, allowHalfOpen: true }), stream) },
  )
  return { dial: (_, first) => gateway.open(streamTypes.proxy, first), ...more }
}

/** Responds to one request with the client connection. */
export function describeClient(
  protocol: string,
): (socket: Socket, client: HttpClientConnection) => ServedHttp {
  return (socket, client) => {
    socket.once('data', () => {
      const body = JSON.stringify({ protocol, ...client })
      socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    })
    socket.on('end', () => socket.end())
    return { drain: () => socket.destroy(), cut: () => socket.destroy() }
  }
}

export interface TestHttps extends AsyncDisposable {
  readonly listener: HttpsListener
  readonly authority: LocalAuthority
  readonly port: number
}

export async function startHttps(
  options: Partial<HttpsListenerOptions> = {},
  certificateOptions: Partial<CertificatesOptions> = {},
): Promise<TestHttps> {
  const { authority, certificates } = await newCertificates(certificateOptions)
  const listener = new HttpsListener({
    admission: new Admission(),
    log,
    certificates,
    route: () => ({ kind: 'http' }),
    http1: describeClient('http/1.1'),
    http2: describeClient('h2'),
    ...options,
  })
  const { port } = await listener.listen({ host: HOST, port: 0 })
  return { listener, authority, port, [Symbol.asyncDispose]: () => listener.drain(0) }
}

type VisitOptions = ConnectionOptions & { readonly allowHalfOpen?: boolean }

/** A TLS client that is connected. */
export async function visit(port: number, options: VisitOptions): Promise<TLSSocket> {
  const socket = connectTls({ host: HOST, port, ...options })
  await once(socket, 'secureConnect')
  return socket
}

/** The session ticket that a client gets. */
export async function ticket(port: number, options: ConnectionOptions): Promise<Buffer> {
  const socket = connectTls({ host: HOST, port, ...options })
  const [session] = (await once(socket, 'session')) as [Buffer]
  // With TLS 1.2 the ticket comes before the handshake is over.
  if (!socket.authorized && socket.authorizationError === null) await once(socket, 'secureConnect')
  socket.destroy()
  return session
}

/** Sends one request and reads the response body. */
export async function ask(socket: Socket): Promise<Record<string, unknown>> {
  socket.write('GET / HTTP/1.1\r\n\r\n')
  const text = (await buffer(socket)).toString()
  return JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)) as Record<string, unknown>
}

export async function open(port: number, allowHalfOpen = true): Promise<Socket> {
  const socket = connect({ host: HOST, port, allowHalfOpen })
  await once(socket, 'connect')
  return socket
}

/** The first bytes that the TLS client of node sends. */
export async function helloBytes(options: ConnectionOptions): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>()
  await using server = await startUpstream(socket => {
    socket.once('data', bytes => {
      resolve(bytes as Buffer)
      socket.destroy()
    })
  })
  const client = connectTls({ host: HOST, port: portOf(server), ...options })
  client.on('error', () => undefined)
  return await promise
}
