import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import { readSocket, type SocketReads } from '../../src/tunnel/socket-reads.ts'
import { answerJobs } from './answer-jobs.ts'

/** The half of a tunnel that clients connect to. */
interface ServerJob {
  readonly role: 'server'
  readonly cert: string
  readonly key: string
}

/** The half beside the services. */
interface AgentJob {
  readonly role: 'agent'
  readonly link: number
  readonly http: number
  readonly tcp: number
}

export type MuxRelayJob = ServerJob | AgentJob

export interface ServerPorts {
  readonly link: number
  readonly http: number
  readonly https: number
  readonly tcp: number
}

// The lowest bit of a stream's id is its service. A frame is an id, a length, and so many bytes; the end has none.
const HTTP = 0
const TCP = 1
const HEADER_BYTES = 8
const local = { host: '127.0.0.1', noDelay: true } as const

/**
 * A tunnel that does nothing but what one must: it reads and writes the sockets that Adit does, in the same way, and
 * its link is one TLS connection whose frames of a turn are one write. There is no HTTP, no routing, no log, no limit.
 */
class Link {
  readonly #socket: Socket
  readonly #reads: SocketReads
  readonly #streams = new Map<number, { readonly socket: Socket; readonly reads: SocketReads }>()
  readonly #unknown: (id: number) => void
  #frames: Buffer[] = []
  #partial: Buffer | undefined
  #id = 0
  #left = 0

  constructor(socket: Socket, unknown: (id: number) => void) {
    this.#socket = socket
    this.#unknown = unknown
    this.#reads = readSocket(socket, { data: bytes => this.#receive(bytes), end: () => socket.destroy() })
    socket.on('error', () => undefined)
    socket.on('drain', () => this.#streams.forEach(({ reads }) => reads.resume()))
  }

  join(id: number, socket: Socket): void {
    const reads = readSocket(socket, {
      data: bytes => this.#send(id, bytes),
      end: () => this.#send(id, Buffer.alloc(0)),
    })
    this.#streams.set(id, { socket, reads })
    socket.on('error', () => undefined)
    socket.on('drain', () => this.#reads.resume())
    socket.on('close', () => {
      this.#streams.delete(id)
      this.#reads.resume()
    })
  }

  #send(id: number, bytes: Buffer): void {
    if (this.#frames.length === 0) setImmediate(() => this.#flush())
    const header = Buffer.allocUnsafe(HEADER_BYTES)
    header.writeUInt32BE(id, 0)
    header.writeUInt32BE(bytes.length, 4)
    this.#frames.push(header, bytes)
  }

  #flush(): void {
    this.#socket.cork()
    for (const bytes of this.#frames) this.#socket.write(bytes)
    this.#socket.uncork()
    this.#frames = []
    if (this.#socket.writableNeedDrain) this.#streams.forEach(({ reads }) => reads.pause())
  }

  #receive(bytes: Buffer): void {
    let rest = this.#partial === undefined ? bytes : Buffer.concat([this.#partial, bytes])
    this.#partial = undefined
    while (rest.length > 0) {
      if (this.#left === 0) {
        if (rest.length < HEADER_BYTES) {
          this.#partial = rest
          return
        }
        this.#id = rest.readUInt32BE(0)
        this.#left = rest.readUInt32BE(4)
        rest = rest.subarray(HEADER_BYTES)
        if (!this.#streams.has(this.#id) && this.#left > 0) this.#unknown(this.#id)
        if (this.#left === 0) this.#streams.get(this.#id)?.socket.end()
      }
      const piece = rest.subarray(0, this.#left)
      rest = rest.subarray(piece.length)
      this.#left -= piece.length
      if (piece.length > 0 && this.#streams.get(this.#id)?.socket.write(piece) === false) this.#reads.pause()
    }
  }
}

async function portOf(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

async function serve({ cert, key }: ServerJob): Promise<ServerPorts> {
  let link: Link | undefined
  let streams = 0
  const to = (service: number) => (socket: Socket) => link?.join(2 * streams++ + service, socket)
  const plain = { noDelay: true, allowHalfOpen: true }
  const secure = { ...plain, cert, key }
  // An id that is not known here was closed by the client.
  const linked = (socket: Socket): void => void (link = new Link(socket, () => undefined))
  return {
    link: await portOf(createTlsServer(secure, linked)),
    http: await portOf(createServer(plain, to(HTTP))),
    https: await portOf(createTlsServer(secure, to(HTTP))),
    tcp: await portOf(createServer(plain, to(TCP))),
  }
}

async function forward({ link: port, http, tcp }: AgentJob): Promise<object> {
  const socket = connectTls({ ...local, port, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const link: Link = new Link(socket, id =>
    link.join(id, connect({ ...local, port: id % 2 === TCP ? tcp : http, allowHalfOpen: true })),
  )
  return {}
}

answerJobs((job: MuxRelayJob) => (job.role === 'server' ? serve(job) : forward(job)))
