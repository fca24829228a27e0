import { connect, type Socket } from 'node:net'
import { answerJobs } from './answer-jobs.ts'

export interface TcpJob {
  readonly port: number
  readonly connections: number
  readonly milliseconds: number
  readonly work: 'echo' | 'bulk'
}

export interface TcpFigures {
  /** Round trips, or bytes. */
  readonly perSecond: number
}

const MESSAGE = Buffer.alloc(64, 'e')

/** Counts the work of one connection, until it is destroyed. */
function drive(
  { port, work }: TcpJob,
  count: (amount: number) => void,
  failed: (error: Error) => void,
): Socket {
  let missing = MESSAGE.length
  const receive = (size: number) => {
    if (work === 'bulk') return count(size)
    missing -= size
    if (missing > 0) return
    missing = MESSAGE.length
    count(1)
    socket.write(MESSAGE)
  }
  // One buffer for all input saves the generator the work of a stream.
  const onread = {
    buffer: Buffer.allocUnsafe(262_144),
    callback(size: number) {
      receive(size)
      return true
    },
  }
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread })
  socket.once('connect', () => socket.write(work === 'bulk' ? 'B' : MESSAGE)).once('error', failed)
  socket.once('end', () => failed(new Error('the connection was closed')))
  return socket
}

async function measure(job: TcpJob): Promise<TcpFigures> {
  let done = 0
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const start = performance.now()
  const sockets = Array.from({ length: job.connections }, () =>
    drive(job, amount => (done += amount), reject),
  )
  setTimeout(resolve, job.milliseconds)
  try {
    await promise
  } finally {
    sockets.forEach(socket => socket.destroy())
  }
  if (done === 0) throw new Error('nothing came back')
  return { perSecond: (done / (performance.now() - start)) * 1000 }
}

answerJobs(measure)
