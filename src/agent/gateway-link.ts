import { AgentError } from '#agent/agent-error.ts'
import { Backoff } from '#agent/backoff.ts'
import type { Binding } from '#agent/binding.ts'
import { dialGateway, type ServerAddress, SameNodeError } from '#agent/dial-gateway.ts'
import { GatewayConnection, type GatewayConnectionOptions } from '#agent/gateway-connection.ts'
import { sleep } from '#agent/sleep.ts'
import { type AgentIdentity, signInRequest } from '#agent/sign-in.ts'
import type { Trust } from '#agent/trust.ts'
import { Problem } from '#base/errors.ts'
import type { AuthAnswer, ConnectAddresses } from '#tunnel/messages.ts'

// Which process responds is random if several share a port, and a wrong one is detected at little cost.
const QUICK_TRIES = 4
// Attempts without a pause would load a machine that is already in trouble.
const LEAST_MS = 50

interface GatewayLinkOptions extends Omit<GatewayConnectionOptions, 'server' | 'offered'> {
  readonly number: number
  /** Where to connect, in the order of preference; never empty. */
  readonly servers: () => readonly ServerAddress[]
  readonly trust: Trust
  readonly identity: () => AgentIdentity
  readonly bindings: ReadonlySet<Binding>
  /** The gateway processes that have another connection of the agent. */
  readonly taken: () => readonly string[]
  /** The agent has signed in. False: wrong process, try again. */
  readonly online: (answer: AuthAnswer, server: ServerAddress) => boolean
  /** The gateway's other nodes have changed. */
  readonly offered: (addresses: ConnectAddresses, server: ServerAddress) => void
  /** The connection is lost or failed. False: do not reconnect. */
  readonly offline: (error: AgentError, retryInMs: number) => boolean
}

/** One of the agent's connections, reopened whenever it is lost. */
export class GatewayLink {
  readonly done: Promise<void>
  readonly #options: GatewayLinkOptions
  readonly #backoff: Backoff
  readonly #stop = new AbortController()
  #connection: GatewayConnection | undefined
  #wrongNodeCount = 0
  /** Failed attempts since the last connection. */
  #attempt = 0

  constructor(options: GatewayLinkOptions) {
    this.#options = options
    this.#backoff = new Backoff(options.agent.retry)
    this.done = this.#run()
  }

  /** The connection that carries tunnels now. */
  get connection(): GatewayConnection | undefined {
    return this.#connection
  }

  stop(): void {
    this.#stop.abort()
    this.#connection?.close()
  }

  /** Requests a tunnel on the current connection, until it is granted or permanently rejected. */
  async bindUntilGranted(binding: Binding): Promise<void> {
    const connection = this.#connection
    while (connection !== undefined && !connection.over && !binding.over) {
      try {
        await connection.bind(binding)
        return
      } catch (error) {
        // The first connection decides: another one may have older information.
        if (error instanceof AgentError && error.permanent && this.#options.number === 0) {
          this.#options.stopped(binding, error)
          return
        }
      }
      if (!(await sleep(this.#backoff.capMs, this.#stop.signal))) return
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      const error = await this.#connectOnce()
      this.#connection = undefined
      if (signal.aborted) return
      const delay = this.#delay(error)
      if (!this.#options.offline(error, delay)) return
      await sleep(delay, signal)
    }
  }

  #delay({ permanent, cause }: AgentError): number {
    if (permanent) return this.#backoff.capMs
    const again = cause instanceof SameNodeError && ++this.#wrongNodeCount % QUICK_TRIES !== 0
    const least = Math.min(LEAST_MS, this.#backoff.capMs)
    return again ? least : Math.max(least, this.#backoff.next())
  }

  /** Connects and runs until the connection ends; returns why it ended. */
  async #connectOnce(): Promise<AgentError> {
    const { servers, trust, number, agent, identity, taken, offered } = this.#options
    const { signal } = this.#stop
    const known = servers()
    const server = known[this.#attempt % known.length] ?? fallback()
    const attempt = Math.floor(this.#attempt++ / known.length)
    let connection: GatewayConnection | undefined
    try {
      const socket = await dialGateway(server, { trust, proxy: agent.proxy, taken: taken(), attempt, signal })
      connection = new GatewayConnection(socket, {
        ...this.#options,
        server: server.text,
        offered: addresses => offered(addresses, server),
      })
      const answer = await connection.signIn(signInRequest(agent, identity(), number))
      signal.throwIfAborted()
      return await this.#stay(connection, answer, server)
    } catch (error) {
      connection?.close()
      return error instanceof AgentError ? error : lost(server.text, error)
    }
  }

  async #stay(connection: GatewayConnection, answer: AuthAnswer, server: ServerAddress): Promise<AgentError> {
    const { online, bindings } = this.#options
    if (!online(answer, server)) throw new Error('it is not the requested process')
    this.#connection = connection
    this.#wrongNodeCount = 0
    this.#attempt = 0
    this.#backoff.reset()
    for (const binding of bindings) void this.bindUntilGranted(binding)
    return lost(server.text, await connection.closed)
  }
}

const fallback = (): never => {
  throw new TypeError('There is no server to connect to.')
}

function lost(server: string, error: unknown): AgentError {
  const reason = error instanceof Error ? error.message.replace(/\.$/, '') : String(error)
  return AgentError.of(new Problem('agent_connection_lost', { server, reason }), { cause: error })
}
