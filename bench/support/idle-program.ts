import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { answerJobs } from './answer-jobs.ts'

/** Connections that idle, or read nothing. */
export interface IdleJob {
  readonly port: number
  readonly host: string
  readonly tls: boolean
  readonly count: number
  readonly path: string
  /** False: reads the response and idles. True: stops reading when the response begins. */
  readonly stall: boolean
}

export interface IdleAnswer {
  /** How many were open at the end; all, unless closed by the server. */
  readonly open: number
}

const AT_ONCE = 50
const sockets: Socket[] = []

function open({ port, host, tls, path, stall }: IdleJob): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = tls
    ? connectTls({ port, host: '127.0.0.1', servername: host, rejectUnauthorized: false })
    : connect(port, '127.0.0.1')
  sockets.push(socket)
  socket.once(tls ? 'secureConnect' : 'connect', () =>
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`),
  )
  socket.on('error', reject)
  socket.once('data', () => {
    if (stall) socket.pause()
    resolve()
  })
  return promise
}

answerJobs(async (job: IdleJob) => {
  for (let left = job.count; left > 0; left -= AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(left, AT_ONCE) }, () => open(job)))
  return { open: sockets.filter(socket => !socket.destroyed).length }
})
