import { createSecureContext, connect, type TLSSocket } from 'node:tls'
import { answerJobs } from './answer-jobs.ts'

/** Commands for the generator; each gets a response when it is done. */
export type HandshakeJob = { readonly port: number; readonly names: readonly string[] } & (
  | {
      /** Connects to each name once, checks its certificate, and keeps a ticket for `resumed`. */
      readonly work: 'visit'
    }
  | {
      /** To random names, as fast as possible. */
      readonly work: 'full' | 'resumed'
      readonly milliseconds: number
    }
)

export interface HandshakeFigures {
  readonly perSecond: number
}

const CONNECTIONS = 32
const PATIENCE_MS = 10_000

const context = createSecureContext({
  // Nothing is trusted, so that the generator verifies no chain: certificates are compared in `visits`.
  ca: [],
  minVersion: 'TLSv1.3',
  // The cheapest key exchange hides other costs the least.
  ecdhCurve: 'X25519',
})

/** By port and name. */
const tickets = new Map<string, Buffer>()
const placeOf = (port: number, name: string): string => `${port} ${name}`

/** One connection from start to end, seen by both sides. */
function handshake(
  port: number,
  name: string,
  handshaken: (socket: TLSSocket) => void,
  ticket?: Buffer,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = connect({
    port,
    host: '127.0.0.1',
    servername: name,
    secureContext: context,
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
    ...(ticket && { session: ticket }),
  })
  socket.setTimeout(PATIENCE_MS, () =>
    socket.destroy(new Error(`${name}: the handshake or its end did not come`)),
  )
  socket.once('secureConnect', () => {
    try {
      handshaken(socket)
    } catch (error) {
      socket.destroy()
      reject(error)
    }
  })
  socket.on('error', reject).once('close', resolve).resume()
  return promise
}

/** The ticket comes after the handshake, in a separate message. */
function visit(port: number, name: string): Promise<void> {
  return handshake(port, name, socket => {
    if (socket.getPeerX509Certificate()?.checkHost(name) === undefined)
      throw new Error(`${name}: the certificate is another's`)
    socket.once('session', ticket => {
      tickets.set(placeOf(port, name), ticket)
      socket.end()
    })
  })
}

async function visitAll({ port, names }: HandshakeJob): Promise<HandshakeFigures> {
  const start = performance.now()
  const left = names.values()
  const work = async (): Promise<void> => {
    for (const name of left) await visit(port, name)
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, work))
  return { perSecond: (names.length / (performance.now() - start)) * 1000 }
}

async function measure(job: Exclude<HandshakeJob, { work: 'visit' }>): Promise<HandshakeFigures> {
  const { port, names, milliseconds } = job
  const resumes = job.work === 'resumed'
  const start = performance.now()
  const end = start + milliseconds
  let done = 0
  const handshaken = (socket: TLSSocket): void => {
    if (socket.isSessionReused() !== resumes) throw new Error(`the handshake was not ${job.work}`)
    done++
    socket.end()
  }
  const work = async (): Promise<void> => {
    while (performance.now() < end) {
      const name = names[Math.floor(Math.random() * names.length)] ?? ''
      await handshake(port, name, handshaken, resumes ? tickets.get(placeOf(port, name)) : undefined)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, work))
  return { perSecond: (done / (performance.now() - start)) * 1000 }
}

answerJobs((job: HandshakeJob) => (job.work === 'visit' ? visitAll(job) : measure(job)))
