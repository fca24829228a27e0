import { AgentError } from '#agent/agent-error.ts'
import { Binding } from '#agent/binding.ts'
import { Connections } from '#agent/connections.ts'
import { offeredAddress, type ServerAddress, serverAddresses } from '#agent/dial-gateway.ts'
import { readEndpoint } from '#agent/endpoint.ts'
import { GatewayLink } from '#agent/gateway-link.ts'
import type { GatewayConnection } from '#agent/gateway-connection.ts'
import type { AgentOptions, EndpointOptions } from '#agent/options.ts'
import type { AgentStatus } from '#agent/events.ts'
import { sleep } from '#agent/sleep.ts'
import { plainText } from '#agent/plain-text.ts'
import type { AgentIdentity } from '#agent/sign-in.ts'
import { notifyListener } from '#agent/notify-listener.ts'
import { Trust } from '#agent/trust.ts'
import type { Tunnel } from '#agent/tunnel.ts'
import { localServer } from '#agent/local-server.ts'
import { Problem } from '#base/errors.ts'
import type { AuthAnswer, ConnectAddresses } from '#tunnel/messages.ts'

const FAREWELL_MS = 2000

const closedError = (cause?: unknown): AgentError => AgentError.of(new Problem('agent_closed', {}), { cause })

/** An agent that is signed in at a gateway, and reconnects. */
export class Agent {
  /** Resolves when the agent was closed. */
  readonly closed: Promise<void>
  readonly #servers: readonly ServerAddress[]
  /** Other nodes, as the gateway has named them. */
  #offered: readonly ServerAddress[] = []
  readonly #options: AgentOptions
  readonly #trust: Trust
  readonly #connections: Connections
  readonly #bindings = new Set<Binding>()
  readonly #links = new Map<number, GatewayLink>()
  readonly #nodes = new Map<number, string | undefined>()
  /** Where each link is connected. */
  readonly #dialled = new Map<number, string>()
  readonly #signedIn = Promise.withResolvers<void>()
  readonly #resolveClosed: () => void
  #status: AgentStatus = { state: 'connecting' }
  #changed = Promise.withResolvers<void>()
  #identity: AgentIdentity = { clientId: '', cookie: '' }
  #offersSecond = false
  #wasOnline = false
  #closing: Promise<void> | undefined

  private constructor(servers: readonly ServerAddress[], options: AgentOptions) {
    this.#servers = servers
    this.#options = options
    this.#trust = new Trust(options.ca, options.caOnly)
    this.#connections = new Connections(options)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.closed = promise
    this.#resolveClosed = resolve
  }

  static async connect(options: AgentOptions): Promise<Agent> {
    const { server = process.env['ADIT_SERVER_ADDR'] ?? localServer(process.env), signal } = options
    const agent = new Agent(serverAddresses(server), options)
    if (signal?.aborted === true) throw closedError(signal.reason)
    const close = () => void agent.close()
    signal?.addEventListener('abort', close)
    void agent.closed.then(() => signal?.removeEventListener('abort', close))
    agent.#set({ state: 'connecting' })
    agent.#begin(0)
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
    return this.#connection()?.latencyMs
  }

  get tunnels(): ReadonlySet<Tunnel> {
    return new Set([...this.#bindings].map(({ tunnel }) => tunnel))
  }

  /** Opens an endpoint; waits for a connection if there is none. */
  async listen(options: EndpointOptions): Promise<Tunnel> {
    const binding = new Binding(readEndpoint(options), it => this.#drop(it))
    for (;;) {
      const connection = await this.#whenOnline()
      try {
        await connection.bind(binding)
      } catch (error) {
        // A request on a connection that closed meanwhile is repeated on the next one.
        if (!connection.over) throw error
        continue
      }
      if (this.#closing) throw closedError()
      this.#bindings.add(binding)
      for (const link of this.#links.values())
        if (link.connection !== connection) void link.bindUntilGranted(binding)
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
    await sleep(FAREWELL_MS, farewell.signal)
    const links = [...this.#links.values()]
    for (const link of links) link.stop()
    await Promise.all(links.map(({ done }) => done))
    this.#set({ state: 'closed' })
    this.#resolveClosed()
  }

  async #drop(binding: Binding, error?: AgentError): Promise<void> {
    this.#bindings.delete(binding)
    binding.end(error)
    await Promise.all([...this.#links.values()].map(async link => link.connection?.unbind(binding)))
  }

  #begin(number: number): void {
    const link = new GatewayLink({
      number,
      servers: () => this.#serversFor(number),
      agent: this.#options,
      trust: this.#trust,
      connections: this.#connections,
      bindings: this.#bindings,
      taken: () => this.#taken(number),
      identity: () => this.#identity,
      stopped: (binding, error) => void this.#drop(binding, error),
      offered: (addresses, server) => {
        this.#takeOffer(number, addresses, server)
        this.#beginSecond()
      },
      online: (answer, server) => this.#online(number, answer, server),
      offline: (error, retryInMs) => this.#offline(number, error, retryInMs),
    })
    this.#links.set(number, link)
    void link.done.then(() => this.#links.get(number) === link && this.#links.delete(number))
  }

  #online(number: number, { ClientId, Extra }: AuthAnswer, server: ServerAddress): boolean {
    this.#takeOffer(number, Extra.ConnectAddresses ?? [], server)
    if (Extra.Node !== undefined && this.#taken(number).includes(Extra.Node)) return false
    if (number > 0 && ClientId !== this.#identity.clientId) return false
    this.#nodes.set(number, Extra.Node)
    this.#dialled.set(number, server.text)
    this.#identity = { clientId: ClientId, cookie: Extra.Cookie }
    this.#wasOnline = true
    if (number === 0 || this.#status.state !== 'online')
      this.#set({ state: 'online', region: plainText(Extra.Region), serverVersion: plainText(Extra.Version) })
    this.#signedIn.resolve()
    if (number === 0) this.#beginSecond()
    return true
  }

  /** The first address is that of the gateway itself. */
  #takeOffer(number: number, [, ...others]: ConnectAddresses, server: ServerAddress): void {
    const offered = others.flatMap(({ ServerAddr }) => offeredAddress(ServerAddr, server) ?? [])
    // A node that is about to stop, or has just started, may know no other one.
    if (offered.length > 0) this.#offered = offered
    if (number === 0) this.#offersSecond = offered.length > 0
  }

  /** A second connection, to another gateway process, keeps tunnels online when the first one is lost. */
  #beginSecond(): void {
    if (this.#offersSecond && !this.#links.has(1) && !this.#closing) this.#begin(1)
  }

  /**
   * The first connection prefers the given servers, and the second one those that the gateway has named. Where the other
   * one is connected is only of use if several nodes share that address.
   */
  #serversFor(number: number): readonly ServerAddress[] {
    const all = number === 0 ? [...this.#servers, ...this.#offered] : [...this.#offered, ...this.#servers]
    const known = [...new Map(all.map(server => [server.text, server])).values()]
    const others = known.filter(
      ({ text }) => ![...this.#dialled].some(([link, used]) => link !== number && used === text),
    )
    return others.length > 0 ? others : known
  }

  /** The processes that have the other connections. */
  #taken(number: number): string[] {
    return [...this.#nodes].flatMap(([link, node]) => (link === number || node === undefined ? [] : [node]))
  }

  #offline(number: number, error: AgentError, retryInMs: number): boolean {
    this.#nodes.delete(number)
    this.#dialled.delete(number)
    // The gateway now has a single process.
    if (number > 0 && !this.#offersSecond) return false
    if (!this.#wasOnline && error.permanent) {
      this.#signedIn.reject(error)
      return false
    }
    if (this.#connection() === undefined)
      this.#set({ state: this.#wasOnline ? 'reconnecting' : 'connecting', error, retryInMs })
    return true
  }

  /** A connection that can carry tunnels. */
  #connection(): GatewayConnection | undefined {
    for (const { connection } of this.#links.values()) if (connection?.over === false) return connection
    return undefined
  }

  async #whenOnline(): Promise<GatewayConnection> {
    for (;;) {
      if (this.#closing) throw closedError()
      const connection = this.#connection()
      if (connection) return connection
      await this.#changed.promise
    }
  }

  #set(status: AgentStatus): void {
    this.#status = status
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
    notifyListener(this.#options.onStatus, status)
  }
}
