import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import { answerJobs } from './answer-jobs.ts'
import { http1Relay } from './mux-relay-http1.ts'
import { http2Relay } from './mux-relay-http2.ts'
import { Link } from './mux-relay-link.ts'
import { type AgentJob, portOf, type RelayJob, type ServerJob } from './relay-jobs.ts'

export interface ServerPorts {
  readonly link: number
  readonly http: number
  readonly https: number
  /** With HTTP/1 of its own to clients and services. */
  readonly http1: number
  readonly https1: number
  readonly http2: number
  readonly tcp: number
}

// The lowest bit of a stream's id is its service.
const HTTP = 0
const TCP = 1
const local = { host: '127.0.0.1', noDelay: true } as const

/**
 * A tunnel that reads and writes the sockets that Adit does, in the same way. It has no routing, no log and no limits,
 * and HTTP only where it is asked for, or where the protocols of client and service differ.
 */
async function serve({ cert, key }: ServerJob): Promise<ServerPorts> {
  let link: Link | undefined
  let streams = 0
  const newId = (service: number): number => 2 * streams++ + service
  const to = (service: number) => (socket: Socket) => link?.join(newId(service), socket)
  const plain = { noDelay: true, allowHalfOpen: true }
  const secure = { ...plain, cert, key }
  // An id that is not known here was closed by the client.
  const linked = (socket: Socket): void => void (link = new Link(socket, () => undefined))
  const newStream = () => link && { link, id: newId(HTTP) }
  return {
    link: await portOf(createTlsServer(secure, linked)),
    http: await portOf(createServer(plain, to(HTTP))),
    https: await portOf(createTlsServer(secure, to(HTTP))),
    http1: await portOf(createServer(plain, http1Relay('http', newStream))),
    https1: await portOf(createTlsServer(secure, http1Relay('https', newStream))),
    http2: await portOf(createTlsServer({ ...secure, ALPNProtocols: ['h2'] }, http2Relay(newStream))),
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

answerJobs((job: RelayJob) => (job.role === 'server' ? serve(job) : forward(job)))
