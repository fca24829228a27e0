import {
  Agent as HttpAgent,
  request as requestHttp,
  type ClientRequest,
  type RequestOptions,
} from 'node:http'
import { connect as connectHttp2, constants, type ClientHttp2Session } from 'node:http2'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { percentile } from './measurements.ts'
import { HOST, type World } from './world.ts'

const TIMEOUT_MS = 60_000
/**
 * A machine that is slower than the rate must not get ever more at once: then nothing is answered in time. One address
 * may have 240 connections of an agent, of which other traffic of a test takes up to 70.
 */
const MOST_AT_ONCE = 100

/**
 * The result of a short request. Only a missing or wrong response is a failure.
 * `refused`: the connection could not be opened, so nothing was accepted.
 * `queued`: the system had taken the connection, and closed it by a reset with the listener before the gateway knew of
 * it. A connection that the gateway has taken and then gives up ends otherwise, and that is a failure.
 * `crossed`: the connection was closed between requests while this one was on its way to it, and no byte came back;
 * or the GOAWAY of HTTP/2 says that it was not looked at. Clients send such a request again (RFC 9112 §9.3.1,
 * RFC 9113 §8.7). It counts only on a connection that has carried a request before: on a new one it is a failure.
 */
type Outcome = 'answered' | 'refused' | 'queued' | 'crossed' | { readonly failure: string }

class RequestLost extends Error {
  readonly outcome: Outcome

  constructor(outcome: Outcome) {
    super('no answer')
    this.outcome = outcome
  }
}

/** Short valid requests in all forms: plain, TLS, keep-alive, a new connection each time, and HTTP/2. */
export class ShortRequests implements AsyncDisposable {
  readonly latencies: number[] = []
  readonly failures: string[] = []
  refused = 0
  queued = 0
  crossed = 0
  readonly #world: World
  readonly #running = new Set<Promise<void>>()
  readonly #http = new HttpAgent({ keepAlive: true, maxSockets: 8 })
  readonly #https: HttpsAgent
  /** Node's `reusedSocket` is not set for a request that waited for its turn at the agent. */
  readonly #used = new WeakSet<Socket>()
  readonly #variants: (() => Promise<Outcome>)[]
  #session: Promise<ClientHttp2Session> | undefined
  #timer: NodeJS.Timeout | undefined
  #count = 0

  constructor(world: World) {
    this.#world = world
    this.#https = new HttpsAgent({ keepAlive: true, maxSockets: 8, ca: world.ca })
    this.#variants = [
      () => this.#http1('http', this.#http),
      () => this.#http1('https', this.#https),
      () => this.#http2(),
      () => this.#http1('http', false),
      () => this.#http1('http', this.#http),
      () => this.#http1('https', this.#https),
      () => this.#http2(),
      () => this.#http1('https', false),
    ]
  }

  get answered(): number {
    return this.latencies.length
  }

  get p99(): number {
    return percentile(this.latencies, 0.99)
  }

  /** Clears the measurements. */
  clear(): void {
    this.latencies.length = this.failures.length = 0
  }

  start(perSecond: number, mostAtOnce = MOST_AT_ONCE): void {
    // Timers are coarse: each tick makes up for what is due.
    const begun = performance.now()
    const before = this.#count
    this.#timer = setInterval(() => {
      const due = ((performance.now() - begun) / 1000) * perSecond
      while (this.#count - before < due && this.#running.size < mostAtOnce) this.#sendOne()
    }, 5)
  }

  /** Waits for pending requests. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all(this.#running)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    this.#http.destroy()
    this.#https.destroy()
    await this.#session?.then(session => session.destroy()).catch(() => undefined)
  }

  #sendOne(): void {
    const way = this.#variants[this.#count++ % this.#variants.length]
    if (way === undefined) return
    const done = this.#record(way)
    this.#running.add(done)
    void done.finally(() => this.#running.delete(done))
  }

  async #record(way: () => Promise<Outcome>): Promise<void> {
    const begun = performance.now()
    const outcome = await way()
    if (outcome === 'answered') this.latencies.push(performance.now() - begun)
    else if (outcome === 'refused') this.refused++
    else if (outcome === 'queued') this.queued++
    else if (outcome === 'crossed') this.crossed++
    else this.failures.push(outcome.failure)
  }

  async #http1(scheme: 'http' | 'https', agent: HttpAgent | false): Promise<Outcome> {
    const options: RequestOptions = {
      host: this.#world.address,
      port: this.#world.port(scheme),
      agent,
      headers: { host: HOST },
      timeout: TIMEOUT_MS,
    }
    const secured = { ...options, servername: HOST, ca: this.#world.ca }
    const request = scheme === 'http' ? requestHttp(options) : requestHttps(secured)
    const way = `${scheme} ${agent ? 'kept' : 'new'}`
    let wasReset = (): boolean => false
    let isReused = false
    request.once('socket', socket => {
      isReused = this.#used.has(socket)
      this.#used.add(socket)
      if (!isReused) wasReset = watchReset(socket)
    })
    try {
      return check(way, await answerOf(request))
    } catch (error) {
      if (wasReset()) return 'queued'
      return error instanceof RequestLost ? error.outcome : outcomeOfError(way, error, isReused)
    }
  }

  async #http2(): Promise<Outcome> {
    try {
      return check('h2', await streamOf(await this.#open()))
    } catch (error) {
      return error instanceof RequestLost ? error.outcome : outcomeOfError('h2', error, false)
    }
  }

  /** One connection for all requests, and a new one after its GOAWAY. */
  #open(): Promise<ClientHttp2Session> {
    this.#session ??= new Promise((resolve, reject) => {
      const authority = `https://${this.#world.address}:${this.#world.port('https')}`
      const [host, port] = [this.#world.address, this.#world.port('https')]
      const socket = connectTls({ host, port, servername: HOST, ca: this.#world.ca, ALPNProtocols: ['h2'] })
      const wasReset = watchReset(socket)
      const session = connectHttp2(authority, { createConnection: () => socket })
      session.setMaxListeners(0)
      session.once('connect', () => resolve(session))
      const over = (error?: Error): void => {
        this.#session = undefined
        if (wasReset()) reject(new RequestLost('queued'))
        else reject(error ?? new Error('closed before it was open'))
      }
      session.on('error', over)
      session.on('goaway', () => over())
      session.on('close', () => over())
    })
    return this.#session
  }
}

/**
 * Tells whether a new connection was reset. If that happens before anything is written, the first write takes the error,
 * and what is read looks like a proper end; but then there is no peer any more.
 */
function watchReset(socket: Socket): () => boolean {
  let wasReset = false
  socket.prependOnceListener('end', () => {
    wasReset = socket.remoteAddress === undefined && socket.bytesRead === 0
  })
  return () => wasReset
}

function check(way: string, { status, text }: { status: number; text: string }): Outcome {
  return status === 200 && text === 'hello'
    ? 'answered'
    : { failure: `${way}: ${status} ${text.slice(0, 80)}` }
}

function outcomeOfError(way: string, error: unknown, reused: boolean): Outcome {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (code === 'ECONNREFUSED') return 'refused'
  if (!reused && code === 'ECONNRESET' && /^(read|connect) /.test(message)) return 'queued'
  if (reused && (code === 'ECONNRESET' || code === 'EPIPE')) return 'crossed'
  return { failure: `${way}: ${code} ${message}` }
}

async function answerOf(request: ClientRequest): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>()
  request.on('error', reject)
  request.on('timeout', () => request.destroy(new Error('no answer in time')))
  request.on('response', response => {
    let text = ''
    const broken = (error: Error): void => reject(new RequestLost({ failure: `cut short: ${error.message}` }))
    response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
    response.on('error', broken)
    response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
  })
  request.end()
  return promise
}

async function streamOf(session: ClientHttp2Session): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>()
  let [status, text, lastId] = [0, '', Number.POSITIVE_INFINITY]
  const goaway = (_code: number, id: number): void => void (lastId = Math.min(lastId, id))
  session.on('goaway', goaway)
  const stream = session.request({ ':path': '/', ':authority': HOST })
  stream.setTimeout(TIMEOUT_MS, () => stream.close(constants.NGHTTP2_CANCEL))
  stream.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  stream.on('response', headers => (status = headers[':status'] ?? 0))
  stream.on('error', () => undefined)
  stream.on('close', () => {
    session.off('goaway', goaway)
    const unseen = (stream.id ?? Number.POSITIVE_INFINITY) > lastId
    if (stream.rstCode === 0 && text !== '') resolve({ status, text })
    else if (unseen || stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) reject(new RequestLost('crossed'))
    else reject(new RequestLost({ failure: `h2: reset with ${stream.rstCode}, status ${status}` }))
  })
  return promise
}
