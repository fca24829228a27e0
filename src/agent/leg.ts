import { AgentError } from '#agent/agent-error.ts'
import { Backoff } from '#agent/backoff.ts'
import type { Binding } from '#agent/binding.ts'
import { dialGateway, type ServerAddress } from '#agent/dial-gateway.ts'
import { Link, type LinkOptions } from '#agent/link.ts'
import { pause } from '#agent/pause.ts'
import { type Identity, signInRequest } from '#agent/sign-in.ts'
import type { Trust } from '#agent/trust.ts'
import { Problem } from '#base/errors.ts'
import type { AuthAnswer } from '#tunnel/messages.ts'

export interface LegOptions extends Omit<LinkOptions, 'server'> {
  readonly number: number
  readonly server: ServerAddress
  readonly trust: Trust
  readonly identity: () => Identity
  readonly bindings: ReadonlySet<Binding>
  /** A gateway has let the agent in. False: not here, try again. */
  readonly online: (answer: AuthAnswer, link: Link) => boolean
  /** The connection is lost or could not be made. False: give up. */
  readonly offline: (error: AgentError, retryInMs: number) => boolean
}

/** One of the agent's connections, made again whenever it is lost. */
export class Leg {
  readonly done: Promise<void>
  readonly #options: LegOptions
  readonly #backoff: Backoff
  readonly #stop = new AbortController()
  #link: Link | undefined

  constructor(options: LegOptions) {
    this.#options = options
    this.#backoff = new Backoff(options.agent.retry)
    this.done = this.#run()
  }

  /** The connection that tunnels are on now. */
  get link(): Link | undefined {
    return this.#link
  }

  stop(): void {
    this.#stop.abort()
    this.#link?.close()
  }

  /** Asks for a tunnel on the present connection, until it is granted or will never be. */
  async keepBound(binding: Binding): Promise<void> {
    const link = this.#link
    while (link !== undefined && !link.over && !binding.over) {
      try {
        await link.bind(binding)
        return
      } catch (error) {
        // The first connection decides: another one may only know less.
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
      const delay = error.permanent ? this.#backoff.capMs : this.#backoff.next()
      if (!this.#options.offline(error, delay)) return
      await pause(delay, signal)
    }
  }

  /** Connects and stays connected for as long as it lasts; says why it ended. */
  async #connectOnce(): Promise<AgentError> {
    const { server, trust, number, agent, identity } = this.#options
    let link: Link | undefined
    try {
      const socket = await dialGateway(server, trust, this.#stop.signal)
      link = new Link(socket, { ...this.#options, server: server.text })
      const answer = await link.signIn(signInRequest(agent, identity(), number))
      this.#stop.signal.throwIfAborted()
      return await this.#stay(link, answer)
    } catch (error) {
      link?.close()
      return error instanceof AgentError ? error : lost(server.text, error)
    }
  }

  async #stay(link: Link, answer: AuthAnswer): Promise<AgentError> {
    const { online, bindings, server } = this.#options
    if (!online(answer, link))
      throw lost(server.text, new Error('it is the process that has the other connection'))
    this.#link = link
    this.#backoff.reset()
    for (const binding of bindings) void this.keepBound(binding)
    return lost(server.text, await link.closed)
  }
}

function lost(server: string, error: unknown): AgentError {
  const reason = error instanceof Error ? error.message.replace(/\.$/, '') : String(error)
  return AgentError.of(new Problem('agent_connection_lost', { server, reason }), { cause: error })
}
