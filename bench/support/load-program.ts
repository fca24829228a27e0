import { connect } from 'node:net'
import type { Job, Measured } from './load.ts'
import { answerJobs } from './answer-jobs.ts'

const STATUS_CLASS = 9
const SUCCESS = '2'.charCodeAt(0)
const MAX_HEAD = 1024

/** How many bytes of the response that begins with this chunk are outstanding. */
function missingAfter(chunk: Buffer): number {
  const text = chunk.toString('latin1', 0, MAX_HEAD)
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) throw new Error(`no complete head in: ${text}`)
  if (chunk[STATUS_CLASS] !== SUCCESS) throw new Error(`refused: ${text}`)
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, end))?.[1]
  if (length === undefined) throw new Error(`no content-length in: ${text}`)
  return Number(length) - (chunk.length - end - 4)
}

/** Sends requests over one connection, each after the previous response is complete. */
function drive(port: number, next: () => string | undefined, latencies: number[]): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let missing = 0
  let sent = 0
  const send = () => {
    const request = next()
    if (request === undefined) return resolve()
    sent = performance.now()
    socket.write(request, 'latin1')
  }
  const receive = (chunk: Buffer) => {
    missing = missing === 0 ? missingAfter(chunk) : missing - chunk.length
    if (missing > 0) return
    latencies.push(performance.now() - sent)
    send()
  }
  // One buffer for all input saves the generator the work of a stream.
  const onread = {
    buffer: Buffer.allocUnsafe(65_536),
    callback(size: number, buffer: Uint8Array) {
      try {
        receive((buffer as Buffer).subarray(0, size))
      } catch (error) {
        reject(error)
      }
      return true
    },
  }
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread })
  socket.once('connect', send).once('error', reject)
  socket.once('close', () => reject(new Error('the connection was closed')))
  return promise.finally(() => socket.destroy())
}

/** The next request, a random value each time; undefined at the end. */
function requestsOf({ before, values, after, until }: Job): () => string | undefined {
  const end = 'milliseconds' in until ? performance.now() + until.milliseconds : Infinity
  let left = 'requests' in until ? until.requests : Infinity
  return () => {
    if (left <= 0 || performance.now() >= end) return undefined
    left -= 1
    return before + (values[Math.floor(Math.random() * values.length)] ?? '') + after
  }
}

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

async function measure(job: Job): Promise<Measured> {
  const latencies: number[] = []
  const cpu = process.cpuUsage()
  const start = performance.now()
  const next = requestsOf(job)
  await Promise.all(Array.from({ length: job.connections }, () => drive(job.port, next, latencies)))
  const elapsed = performance.now() - start
  const used = process.cpuUsage(cpu)
  const sorted = latencies.toSorted((a, b) => a - b)
  return {
    perSecond: (latencies.length / elapsed) * 1000,
    medianMs: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    busy: (used.user + used.system) / 1000 / elapsed,
  }
}

answerJobs(measure)
