import { Agent, request, type ClientRequest } from 'node:http'
import type { Socket } from 'node:net'
import { readAnswer } from '#base/egress/answer.ts'
import { EgressError, type Egress, type EgressAnswer } from '#base/egress.ts'
import { webAddress } from '#base/egress/redirect.ts'

export interface Post {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
  readonly signal: AbortSignal
}

const TIMEOUT_MS = 15_000
const IDLE_MS = 30_000
const MAX_CONNECTIONS = 4
const MAX_ANSWER = 1_048_576
const usual = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'adit' }
/** Errors of a connection that the peer closed while it was idle. */
const gone = new Set(['ECONNRESET', 'EPIPE'])

/** Opens connections through the egress client and keeps them for the next request to the same address. */
class KeepAliveAgent extends Agent {
  readonly #egress: Egress
  readonly #isSecure: boolean

  constructor(egress: Egress, isSecure: boolean) {
    super({ keepAlive: true, maxSockets: MAX_CONNECTIONS, timeout: IDLE_MS })
    this.#egress = egress
    this.#isSecure = isSecure
  }

  override createConnection(...[target, opened]: Parameters<Agent['createConnection']>): undefined {
    const host = String(target.host)
    this.#open(host, Number(target.port)).then(
      socket => opened?.(null, socket),
      // Typed as if there were always a socket as well.
      (error: unknown) => (opened as ((error: unknown) => void) | undefined)?.(error),
    )
    return undefined
  }

  async #open(host: string, port: number): Promise<Socket> {
    const tls = this.#isSecure ? { tls: { serverName: host, alpn: ['http/1.1'] } } : {}
    const socket = await this.#egress.connect({ host, port, timeoutMs: TIMEOUT_MS, ...tls })
    // It may stay half-open: without this, one that the peer has closed would be reused.
    return socket.once('end', () => socket.end())
  }
}

/** POSTs to one service, on kept-alive connections. Redirects are not followed. */
export class KeepAliveClient {
  readonly #egress: Egress
  readonly #timeoutMs: number
  readonly #agents = new Map<boolean, KeepAliveAgent>()
  #isClosed = false

  constructor(egress: Egress, { timeoutMs = TIMEOUT_MS }: { readonly timeoutMs?: number } = {}) {
    this.#egress = egress
    this.#timeoutMs = timeoutMs
  }

  /** Rejects with an `EgressError` without a complete response, and with the signal's reason when it is aborted. */
  async post(post: Post): Promise<EgressAnswer> {
    const url = webAddress(post.url)
    post.signal.throwIfAborted()
    if (this.#isClosed) throw new EgressError('The destination is closed.')
    const first = this.#start(url, post)
    try {
      return await answerOf(first, url, post.signal, this.#timeoutMs)
    } catch (error) {
      const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
      const isStale = first.reusedSocket && gone.has(code ?? '')
      if (!isStale || post.signal.aborted || this.#isClosed) throw error
      return answerOf(this.#start(url, post), url, post.signal, this.#timeoutMs)
    }
  }

  close(): void {
    this.#isClosed = true
    for (const agent of this.#agents.values()) agent.destroy()
    this.#agents.clear()
  }

  #start(url: URL, { headers, body }: Post): ClientRequest {
    const isSecure = url.protocol === 'https:'
    const agent = this.#agents.get(isSecure) ?? new KeepAliveAgent(this.#egress, isSecure)
    this.#agents.set(isSecure, agent)
    try {
      const started = request({
        agent,
        host: url.hostname,
        port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port),
        method: 'POST',
        path: url.pathname + url.search,
        headers: { ...usual, ...headers, host: url.host, 'content-length': Buffer.byteLength(body) },
        setHost: false,
      })
      return started.end(body)
    } catch (cause) {
      // Header names may be reported, their values may not; Node complies.
      const { message } = cause as Error
      throw new EgressError(`The request cannot be made (${message}).`, { code: 'invalid', cause })
    }
  }
}

function answerOf(
  outgoing: ClientRequest,
  url: URL,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<EgressAnswer> {
  const stop = (): void => void outgoing.destroy(signal.reason as Error)
  const late = (): void => {
    const message = `${url.origin} sent no response within ${timeoutMs / 1000} seconds.`
    outgoing.destroy(new EgressError(message, { code: 'timeout' }))
  }
  const timer = setTimeout(late, timeoutMs)
  signal.addEventListener('abort', stop, { once: true })
  return new Promise<EgressAnswer>((resolve, reject) => {
    outgoing.on('error', reject)
    outgoing.on('upgrade', (_answer, socket) => {
      socket.destroy()
      reject(new EgressError(`${url.origin} switches protocols.`, { code: 'invalid' }))
    })
    outgoing.on('response', answer => {
      readAnswer(answer, MAX_ANSWER).then(resolve, reject)
    })
  })
    .catch((cause: unknown) => {
      outgoing.destroy()
      if (cause instanceof EgressError || signal.aborted) throw cause
      const { code, message } = cause as NodeJS.ErrnoException
      throw new EgressError(`${url.origin} sent no valid response (${code ?? message}).`, { cause })
    })
    .finally(() => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
    })
}
