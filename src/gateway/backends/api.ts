import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type { ClosableEndpoint } from '#gateway/backends/backend.ts'
import { StreamPool } from '#gateway/backends/stream-pool.ts'
import { type HttpUpstream, UpstreamCall } from '#gateway/backends/upstream-call.ts'
import { serializeRequestHead } from '#gateway/backends/upstream-request.ts'
import { timeoutChecker } from '#http/timeout-checker.ts'
import { DialError } from '#registry/agent-dialer.ts'
import { fromDuplex } from '#tunnel/from-duplex.ts'

const ANSWER_MS = 60_000
const IDLE_MS = 30_000
const MAX_IDLE = 64
/** Of one gateway process; each stream of a dashboard holds one. */
const MAX_CONNECTIONS = 1024
/** The API opens its socket a moment after the gateway its listeners. */
const START_MS = 5000
const RETRY_MS = 50

/** Forwards to the API of this server, which trusts the forwarding headers of this socket. */
export function apiBackend(socketPath: string): ClosableEndpoint {
  const upstream = upstreamOf(new ApiDialer(socketPath))
  return Object.assign(
    (exchange: Parameters<ClosableEndpoint>[0]) =>
      new Promise<Awaited<ReturnType<ClosableEndpoint>>>((resolve, reject) => {
        new UpstreamCall(upstream, exchange, resolve, reject).start()
      }),
    { close: () => upstream.pool.close() },
  )
}

/** Opens a limited number of connections. */
class ApiDialer {
  readonly #path: string
  #open = 0

  constructor(path: string) {
    this.#path = path
  }

  async dial(): Promise<Socket> {
    if (this.#open >= MAX_CONNECTIONS) throw new DialError('busy', 'Too many connections to the API.')
    this.#open++
    try {
      const socket = await this.#connected(performance.now() + START_MS)
      socket.once('close', () => this.#open--)
      return socket
    } catch (error) {
      this.#open--
      throw new DialError('offline', 'The API does not accept connections.', error)
    }
  }

  async #connected(until: number): Promise<Socket> {
    for (;;) {
      const socket = connect({ path: this.#path, allowHalfOpen: true })
      try {
        await once(socket, 'connect')
        return socket
      } catch (error) {
        socket.destroy()
        if (performance.now() >= until) throw error
        await setTimeout(RETRY_MS)
      }
    }
  }
}

const upstreamOf = (dialer: ApiDialer): HttpUpstream => ({
  pool: new StreamPool({ timeouts: timeoutChecker, maxIdle: MAX_IDLE, idleMs: IDLE_MS }),
  viaAgent: false,
  reusable: true,
  answerTimeoutMs: ANSWER_MS,
  now: () => timeoutChecker.now,
  text: exchange => serializeRequestHead(exchange, undefined),
  async dial(_exchange, first) {
    const stream = fromDuplex(await dialer.dial())
    stream.write(first)
    return stream
  },
  notDialled: error => (error instanceof DialError ? 'api_unavailable' : undefined),
})
