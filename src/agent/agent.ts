import { AgentError } from '#agent/agent-error.ts'
import { Binding } from '#agent/binding.ts'
import { Connections } from '#agent/connections.ts'
import { type ServerAddress, serverAddress } from '#agent/dial-gateway.ts'
import { readEndpoint } from '#agent/endpoint.ts'
import { Leg } from '#agent/leg.ts'
import type { Link } from '#agent/link.ts'
import type { AgentOptions, EndpointOptions } from '#agent/options.ts'
import type { AgentStatus } from '#agent/events.ts'
import { pause } from '#agent/pause.ts'
import { plainText } from '#agent/plain-text.ts'
import type { Identity } from '#agent/sign-in.ts'
import { tell } from '#agent/tell.ts'
import { Trust } from '#agent/trust.ts'
import type { Tunnel } from '#agent/tunnel.ts'
import { localServer } from '#agent/local-server.ts'
import { Problem } from '#base/errors.ts'
import type { AuthAnswer } from '#tunnel/messages.ts'

const FAREWELL_MS = 2000

const closedError = (cause?: unknown): AgentError => AgentError.of(new Problem('agent_closed', {}), { cause })

/** An agent that is signed in at a gateway, and reconnects. */
export class Agent {
  /** Resolves when the agent was closed. */
  readonly closed: Promise<void>
  readonly #server: ServerAddress
  readonly #options: AgentOptions
  readonly #trust: Trust
  readonly #connections: Connections
  readonly #bindings = new Set<Binding>()
  readonly #legs = new Map<number, Leg>()
  readonly #nodes = new Map<number, string | undefined>()
  readonly #signedIn = Promise.withResolvers<void>()
  readonly #tellClosed: () => void
  #status: AgentStatus = { state: 'connecting' }
  #changed = Promise.withResolvers<void>()
  #identity: Identity = { clientId: '', cookie: '' }
  #offersSecond = false
  #wasOnline = false
  #closing: Promise<void> | undefined

  private constructor(server: ServerAddress, options: AgentOptions) {
    this.#server = server
    this.#options = options
    this.#trust = new Trust(options.ca, options.caOnly)
    this.#connections = new Connections(options)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.closed = promise
    this.#tellClosed = resolve
  }

  static async connect(options: AgentOptions): Promise<Agent> {
    const { server = process.env['ADIT_SERVER_ADDR'] ?? localServer(process.env), signal } = options
    const address = serverAddress(server)
    const agent = new Agent(address, options)
    if (signal?.aborted === true) throw closedError(signal.reason)
    const close = () => void agent.close()
    signal?.addEventListener('abort', close)
    void agent.closed.then(() => signal?.removeEventListener('abort', close))
    agent.#set({ state: 'connecting' })
    agent.#begin(0, address)
    try {
      await agent.#signedIn.promise
      return agent
    } catch (error) {
      await agent.close()
      throw error
    }
  }

  get status(): AgentStatus {
    const { latencyMs } = this
    return latencyMs === undefined ? this.#status : { ...this.#status, latencyMs }
  }

  get sessionId(): string {
    return this.#identity.clientId
  }

  /** Round trip to the gateway, as last measured. */
  get latencyMs(): number | undefined {
    return this.#link()?.latencyMs
  }

  get tunnels(): ReadonlySet<Tunnel> {
    return new Set([...this.#bindings].map(({ tunnel }) => tunnel))
  }

  /** Opens an endpoint; waits for a connection if there is none. */
  async listen(options: EndpointOptions): Promise<Tunnel> {
    const binding = new Binding(readEndpoint(options), it => this.#drop(it))
    for (;;) {
      const link = await this.#whenOnline()
      try {
        await link.bind(binding)
      } catch (error) {
        // A request on a connection that closed meanwhile is repeated on the next one.
        if (!link.over) throw error
        continue
      }
      if (this.#closing) throw closedError()
      this.#bindings.add(binding)
      for (const leg of this.#legs.values()) if (leg.link !== link) void leg.keepBound(binding)
      return binding.tunnel
    }
  }

  /** Closes every tunnel and the connection. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#signedIn.reject(closedError(this.#options.signal?.reason))
    // It may have no listener.
    this.#signedIn.promise.catch(() => undefined)
    const farewell = new AbortController()
    const dropped = Promise.all([...this.#bindings].map(binding => this.#drop(binding)))
    void dropped.then(() => farewell.abort())
    // An unresponsive gateway must not keep the program from exiting.
    await pause(FAREWELL_MS, farewell.signal)
    const legs = [...this.#legs.values()]
    for (const leg of legs) leg.stop()
    await Promise.all(legs.map(({ done }) => done))
    this.#set({ state: 'closed' })
    this.#tellClosed()
  }

  async #drop(binding: Binding, error?: AgentError): Promise<void> {
    this.#bindings.delete(binding)
    binding.end(error)
    await Promise.all([...this.#legs.values()].map(async leg => leg.link?.unbind(binding)))
  }

  #begin(number: number, server: ServerAddress): void {
    const leg = new Leg({
      number,
      server,
      agent: this.#options,
      trust: this.#trust,
      connections: this.#connections,
      bindings: this.#bindings,
      taken: () => this.#taken(number),
      identity: () => this.#identity,
      stopped: (binding, error) => void this.#drop(binding, error),
      online: answer => this.#online(number, answer),
      offline: (error, retryInMs) => this.#offline(number, error, retryInMs),
    })
    this.#legs.set(number, leg)
    void leg.done.then(() => this.#legs.get(number) === leg && this.#legs.delete(number))
  }

  #online(number: number, { ClientId, Extra }: AuthAnswer): boolean {
    const second = Extra.ConnectAddresses?.[1]
    this.#offersSecond = second !== undefined
    if (Extra.Node !== undefined && this.#taken(number).includes(Extra.Node)) return false
    if (number > 0 && (ClientId !== this.#identity.clientId || !this.#offersSecond)) return false
    this.#nodes.set(number, Extra.Node)
    this.#identity = { clientId: ClientId, cookie: Extra.Cookie }
    this.#wasOnline = true
    if (number === 0 || this.#status.state !== 'online')
      this.#set({ state: 'online', region: plainText(Extra.Region), serverVersion: plainText(Extra.Version) })
    this.#signedIn.resolve()
    if (number === 0) this.#beginSecond(second?.ServerAddr)
    return true
  }

  /** The processes that have the other connections. */
  #taken(number: number): string[] {
    return [...this.#nodes].flatMap(([leg, node]) => (leg === number || node === undefined ? [] : [node]))
  }

  /** A second connection, to another gateway process, keeps tunnels online when the first one is lost. */
  #beginSecond(address: string | undefined): void {
    if (address === undefined || this.#legs.has(1)) return
    try {
      // An empty string means the dialled address.
      this.#begin(1, address === '' ? this.#server : serverAddress(address))
    } catch {
      // The gateway's address is invalid: one connection is enough.
    }
  }

  #offline(number: number, error: AgentError, retryInMs: number): boolean {
    this.#nodes.delete(number)
    // The gateway now has a single process.
    if (number > 0 && !this.#offersSecond) return false
    if (!this.#wasOnline && error.permanent) {
      this.#signedIn.reject(error)
      return false
    }
    if (this.#link() === undefined)
      this.#set({ state: this.#wasOnline ? 'reconnecting' : 'connecting', error, retryInMs })
    return true
  }

  /** A connection that can carry tunnels. */
  #link(): Link | undefined {
    for (const { link } of this.#legs.values()) if (link?.over === false) return link
    return undefined
  }

  async #whenOnline(): Promise<Link> {
    for (;;) {
      if (this.#closing) throw closedError()
      const link = this.#link()
      if (link) return link
      await this.#changed.promise
    }
  }

  #set(status: AgentStatus): void {
    this.#status = status
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
    tell(this.#options.onStatus, status)
  }
}
