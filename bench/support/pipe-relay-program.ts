import { connect, createServer, type Socket } from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import { readSocket } from '../../src/tunnel/socket-reads.ts'
import { writeOwned } from '../../src/tunnel/buffer-pool.ts'
import { answerJobs } from './answer-jobs.ts'
import { type AgentJob, portOf, type RelayJob, type ServerJob } from './relay-jobs.ts'

export interface PipePorts {
  readonly link: number
  readonly http: number
  readonly https: number
  readonly tcp: number
}

/** Connections to the server that wait for a client. */
const IDLE = 16
const HTTP = Buffer.from([0])
const TCP = Buffer.from([1])
const half = { noDelay: true, allowHalfOpen: true } as const

/** Passes on what one socket receives, as Adit reads and writes; `target` gets the first bytes before that. */
function pipe(from: Socket, target: (first: Buffer) => { readonly to: Socket; readonly used: number }): void {
  let to: Socket | undefined
  const reads = readSocket(from, {
    data: bytes => {
      let used = 0
      if (to === undefined) {
        ;({ to, used } = target(bytes))
        to.on('drain', () => reads.resume())
      }
      if (used < bytes.length && !writeOwned(to, bytes.subarray(used))) reads.pause()
    },
    end: () => void to?.end(),
  })
  from.on('error', () => undefined)
  from.on('close', () => to?.destroy())
}

const pipeTo = (from: Socket, to: Socket): void => pipe(from, () => ({ to, used: 0 }))

/** A tunnel with a TLS connection for each client: no frames, no HTTP, no limits. */
async function serve({ cert, key }: ServerJob): Promise<PipePorts> {
  const idle: Socket[] = []
  const waiting: ((link: Socket) => void)[] = []
  const secure = { ...half, cert, key }
  const linked = (link: Socket): void => {
    const take = waiting.shift()
    if (take === undefined) idle.push(link)
    else take(link)
  }
  const to = (service: Buffer) => (client: Socket) => {
    const take = (link: Socket): void => {
      link.write(service)
      pipeTo(client, link)
      pipeTo(link, client)
    }
    const link = idle.shift()
    if (link === undefined) waiting.push(take)
    else take(link)
  }
  return {
    link: await portOf(createTlsServer(secure, linked)),
    http: await portOf(createServer(half, to(HTTP))),
    https: await portOf(createTlsServer(secure, to(HTTP))),
    tcp: await portOf(createServer(half, to(TCP))),
  }
}

async function forward({ link: port, http, tcp }: AgentJob): Promise<object> {
  const open = (): void => {
    const link = connectTls({ ...half, host: '127.0.0.1', port, rejectUnauthorized: false })
    // The first byte names the service.
    pipe(link, first => {
      open()
      const service = connect({ ...half, host: '127.0.0.1', port: first[0] === TCP[0] ? tcp : http })
      pipeTo(service, link)
      return { to: service, used: 1 }
    })
  }
  for (let count = 0; count < IDLE; count++) open()
  return {}
}

answerJobs((job: RelayJob) => (job.role === 'server' ? serve(job) : forward(job)))
