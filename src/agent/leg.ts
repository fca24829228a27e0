import { AgentError } from '#agent/agent-error.ts'
import { Backoff } from '#agent/backoff.ts'
import type { Binding } from '#agent/binding.ts'
import { dialGateway, type ServerAddress, TakenError } from '#agent/dial-gateway.ts'
import { Link, type LinkOptions } from '#agent/link.ts'
import { pause } from '#agent/pause.ts'
import { type Identity, signInRequest } from '#agent/sign-in.ts'
import type { Trust } from '#agent/trust.ts'
import { Problem } from '#base/errors.ts'
import type { AuthAnswer } from '#tunnel/messages.ts'

// Which process responds is random if several share a port, and a wrong one is detected at little cost.
const QUICK_TRIES = 4
// Attempts without a pause would load a machine that is already in trouble.
const LEAST_MS = 50

export interface LegOptions extends Omit<LinkOptions, 'server'> {
  readonly number: number
  readonly server: ServerAddress
  readonly trust: Trust
  readonly identity: () => Identity
  readonly bindings: ReadonlySet<Binding>
  /** The gateway processes that have another connection of the agent. */
  readonly taken: () => readonly string[]
  /** The agent has signed in. False: wrong process, try again. */
  readonly online: (answer: AuthAnswer, link: Link) => boolean
  /** The connection is lost or failed. False: give up. */
  readonly offline: (error: AgentError, retryInMs: number) => boolean
}

/** One of the agent's connections, reopened whenever it is lost. */
export class Leg {
  readonly done: Promise<void>
  readonly #options: LegOptions
  readonly #backoff: Backoff
  readonly #stop = new AbortController()
  #link: Link | undefined
  #misses = 0

  constructor(options: LegOptions) {
    this.#options = options
    this.#backoff = new Backoff(options.agent.retry)
    this.done = this.#run()
  }

  /** The connection that carries tunnels now. */
  get link(): Link | undefined {
    return this.#link
  }

  stop(): void {
    this.#stop.abort()
    this.#link?.close()
  }

  /** Requests a tunnel on the current connection, until it is granted or permanently rejected. */
  async keepBound(binding: Binding): Promise<void> {
    const link = this.#link
    while (link !== undefined && !link.over && !binding.over) {
      try {
        await link.bind(binding)
        return
      } catch (error) {
        // The first connection decides: another one may have older information.
        if (error instanceof AgentError && error.permanent && this.#options.number === 0) {
          this.#options.stopped(binding, error)
          return
        }
      }
      if (!(await pause(this.#backoff.capMs, this.#stop.signal))) return
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      const error = await this.#connectOnce()
      this.#link = undefined
      if (signal.aborted) return
      const delay = this.#delay(error)
      if (!this.#options.offline(error, delay)) return
      await pause(delay, signal)
    }
  }

  #delay({ permanent, cause }: AgentError): number {
    if (permanent) return this.#backoff.capMs
    const again = cause instanceof TakenError && ++this.#misses % QUICK_TRIES !== 0
    const least = Math.min(LEAST_MS, this.#backoff.capMs)
    return again ? least : Math.max(least, this.#backoff.next())
  }

  /** Connects and runs until the connection ends; returns why it ended. */
  async #connectOnce(): Promise<AgentError> {
    const { server, trust, number, agent, identity, taken } = this.#options
    const { signal } = this.#stop
    let link: Link | undefined
    try {
      const socket = await dialGateway(server, { trust, proxy: agent.proxy, taken: taken(), signal })
      link = new Link(socket, { ...this.#options, server: server.text })
      const answer = await link.signIn(signInRequest(agent, identity(), number))
      signal.throwIfAborted()
      return await this.#stay(link, answer)
    } catch (error) {
      link?.close()
      return error instanceof AgentError ? error : lost(server.text, error)
    }
  }

  async #stay(link: Link, answer: AuthAnswer): Promise<AgentError> {
    const { online, bindings, server } = this.#options
    if (!online(answer, link)) throw new Error('it is not the process that is looked for')
    this.#link = link
    this.#misses = 0
    this.#backoff.reset()
    for (const binding of bindings) void this.keepBound(binding)
    return lost(server.text, await link.closed)
  }
}

function lost(server: string, error: unknown): AgentError {
  const reason = error instanceof Error ? error.message.replace(/\.$/, '') : String(error)
  return AgentError.of(new Problem('agent_connection_lost', { server, reason }), { cause: error })
}
