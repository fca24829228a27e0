import { hkdfSync } from 'node:crypto'
import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type { Egress } from '#base/egress.ts'
import type { SharesPorts } from '#base/listen-on.ts'
import type { Log } from '#base/log.ts'
import type { Secret } from '#base/secrets.ts'
import { TlsChallenges } from '#gateway/acme/tls-challenge.ts'
import { tunnelBackend } from '#gateway/backends/tunnel.ts'
import type { Directory } from '#registry/directory.ts'
import type { HttpClientConnection } from '#http/exchange.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import type { AgentDialer } from '#registry/agent-dialer.ts'
import { primaryOnly } from '#registry/agent-connections.ts'
import { serveHttp1 } from '#http/http1-server-connection.ts'
import { serveHttp2 } from '#http/http2-server-connection.ts'
import { SiteIsolation } from '#http/site-isolation.ts'
import type { ListenAddress } from '#gateway/listeners/acceptor.ts'
import { Admission } from '#gateway/listeners/admission.ts'
import { AgentListener } from '#gateway/listeners/agents.ts'
import { HttpListener } from '#gateway/listeners/http.ts'
import { HttpsListener } from '#gateway/listeners/https.ts'
import { SshListener } from '#ssh/listener.ts'
import { TcpPorts } from '#gateway/listeners/tcp.ts'
import { ClientBytes } from '#gateway/listeners/client-bytes.ts'
import { GatewayMetrics } from '#telemetry/metrics.ts'
import { withRequestLine } from '#gateway/with-request-line.ts'
import { Modules } from '#gateway/modules/index.ts'
import type { MakeBackend } from '#gateway/backends/backend.ts'
import { TcpPortReconciler } from '#gateway/routing/tcp-port-reconciler.ts'
import { Router, type RouterOptions } from '#gateway/routing/router.ts'
import { Records } from '#registry/records/records.ts'
import type { Source } from '#registry/records/source.ts'
import { RequestLog, type WriteLine } from '#telemetry/request-log/request-log.ts'
import { samlRoutes } from '#auth/saml/saml-routes.ts'
import { SAML_PREFIX } from '#auth/saml/place.ts'
import { ResumptionTokens } from '#gateway/agents/resumption-tokens.ts'
import { AgentRegistry } from '#gateway/agents/agent-registry.ts'
import type { UsageLimits } from '#gateway/agents/usage.ts'
import type { OAuthSetup } from '#auth/providers/setup.ts'
import { Seal } from '#auth/sign-in/seal.ts'
import { createSignIn } from '#auth/sign-in/service.ts'
import type { PlaceAt, SignIn } from '#auth/sign-in/sign-in.ts'
import type { UserSessionStore } from '#auth/sign-in/user-session-store.ts'
import { gatewayDeps } from '#gateway/agents/ssh-deps.ts'
import { Certificates, defaultNames } from '#tls/certificates.ts'
import { watchExpiry } from '#tls/expiry.ts'
import { evictReplacedCertificates } from '#tls/evict-replaced-certificates.ts'
import { Tracing, type TracingOptions } from '#telemetry/tracing/tracing.ts'
import type { TrafficEvents } from '#telemetry/traffic-events.ts'
import type { LocalAuthority } from '#pki/local-authority.ts'

const listenerNames = ['http', 'https', 'agent', 'ssh'] as const
export type ListenerName = (typeof listenerNames)[number]

export interface GatewayOptions {
  readonly info: Omit<GatewayInfo, 'httpPort' | 'httpsPort'>
  /** The address of each listener; undefined is off. */
  readonly addresses: Readonly<Record<ListenerName, ListenAddress | undefined>>
  /** Ports in public URLs, if others than those bound are mapped to them. */
  readonly publicPorts: { readonly http: number | undefined; readonly https: number | undefined }
  /** What one credential and one owner may have online. */
  readonly limits: UsageLimits
  readonly source: Source
  readonly directory: Directory
  readonly authority: LocalAuthority
  readonly keys: GatewayKeys
  readonly log: Log
  /** The only client for outgoing connections, except to agents. */
  readonly egress: Egress
  /** The operator's OAuth applications. */
  readonly oauth: OAuthSetup
  /** Where sign-ins are recorded. */
  readonly userSessions: UserSessionStore
  /** How many requests are kept for look-up, and where the access log goes. */
  readonly requests: { readonly size: number; readonly write: WriteLine | undefined }
  /** Names that were online before the gateway started. */
  readonly recentNames?: readonly string[]
  /** Receives requests and connections; unused when absent. */
  readonly traffic?: TrafficEvents
  /** Where traces are sent; none are created when absent. */
  readonly tracing?: Pick<TracingOptions, 'setup' | 'egress'> | undefined
  /** Several processes share the ports. */
  readonly sharesPorts?: SharesPorts
  /** Reaches the agents of other processes too, given those of this one. */
  readonly connectPeers?: ((local: AgentRegistry) => Promise<AgentDialer>) | undefined
}

/** Shared by all processes of an installation, so that tokens of one are valid for another. */
export interface GatewayKeys {
  /** 32 bytes: seals the reconnect tokens of agents. */
  readonly proofs: Buffer
  /** 48 bytes: TLS session ticket keys. */
  readonly tickets: Buffer
  /** Ed25519, PKCS #8. */
  readonly sshHost: Secret
}

type Bound = Partial<Record<ListenerName, ListenAddress>>

/** A listener that could not be opened. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
  readonly listener: ListenerName
  readonly address: ListenAddress

  constructor(listener: ListenerName, address: ListenAddress, cause: unknown) {
    super(`The listener for ${listener} cannot be opened.`, { cause })
    this.listener = listener
    this.address = address
  }
}

export interface Gateway {
  readonly bound: Readonly<Bound>
  readonly info: GatewayInfo
  readonly records: Records
  /** The agents of this process. */
  readonly registry: AgentRegistry
  readonly metrics: GatewayMetrics
  readonly requests: RequestLog
  /** Stops accepting clients and finishes their requests; agents stay. What lasts past the deadline is aborted. */
  quiesce(deadlineMs: number): Promise<void>
  /**
   * For a gateway whose successor has opened the same ports: stops accepting, and disconnects each agent as soon as its
   * requests are finished, so that it reconnects to the successor.
   */
  moveOut(deadlineMs: number): Promise<void>
  /** The same as `quiesce`, then disconnects the agents and releases everything. */
  drain(deadlineMs: number): Promise<void>
}

// Agents close after their clients; this is for those whose connections hang.
const AGENT_DRAIN_MS = 2000
// Within this time an accepted request has been sent to its agent.
const ARRIVED_MS = 1000

/** Starts the data plane of one process. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const records = new Records(options.log)
  const unfollow = await records.follow(options.source)
  const bound: Bound = {}
  const info = infoOf(options, bound)
  const metrics = new GatewayMetrics(info.version)
  const { directory, log } = options
  const placeAt: PlaceAt = (scheme, host) => router.signInPlace(scheme, host)
  const { modules, signIn } = makeModules(options, { info, records, placeAt })
  const common = {
    info,
    records,
    directory,
    log,
    modules,
    resumption: new ResumptionTokens(options.keys.proofs),
  }
  const { limits } = options
  const registry: AgentRegistry = new AgentRegistry({ ...common, limits, probe: id => dialer.probe(id) })
  const dialer: AgentDialer = (await options.connectPeers?.(registry)) ?? registry
  const ssh = makeSsh(options, { info, records, registry })
  const backend = makeBackend({ directory, ssh, dialer })
  const { egress, recentNames } = options
  const central: RouterOptions['central'] = head => signIn.callbackHandler(head)
  const router: Router = new Router({
    ...common,
    dialer,
    backend,
    egress,
    central,
    recent: { before: recentNames ?? [] },
  })
  const certificates = await makeCertificates(options, records, router)
  evictReplacedCertificates(records, certificates)
  const stopExpiry = watchExpiry(metrics, { info, records, log, defaultEnd: () => certificates.defaultEnd })
  const requests = new RequestLog({ metrics, log, traffic: options.traffic, ...options.requests })
  const challenges = new TlsChallenges(records)
  const tracing = options.tracing && new Tracing({ ...options.tracing, info, metrics, log })
  const clientListeners = makeListeners(options, {
    records,
    router,
    certificates,
    challenges,
    metrics,
    requests,
    tracing,
    agents: options.addresses.agent && { adopt: (...given) => agents.adopt(...given) },
  })
  const ports = new TcpPortReconciler({ ...common, router, ports: clientListeners.tcp })
  const { sharesPorts } = options
  const agents: AgentListener = new AgentListener({
    ...common,
    registry,
    certificates,
    sharesPorts,
    handshaken: clientListeners.handshaken,
  })
  const listeners = {
    ...clientListeners,
    agent: agents,
    ssh: ssh && { listen: async ({ host }: ListenAddress) => ({ host, port: await ssh.listen() }) },
  }
  count(metrics, { ...clientListeners, agent: agents, ssh }, { directory, info })
  const gateway: Gateway = {
    bound,
    info,
    records,
    registry,
    metrics,
    requests,
    async quiesce(deadlineMs) {
      const { http, https, tcp } = clientListeners
      ports.close()
      await Promise.all([http.drain(deadlineMs), https.drain(deadlineMs), tcp.drain(deadlineMs)])
    },
    async moveOut(deadlineMs) {
      const quiet = gateway.quiesce(deadlineMs)
      // Requests that have just arrived must find their agent.
      await Promise.race([quiet, setTimeout(ARRIVED_MS, undefined, { ref: false })])
      router.close()
      await Promise.all([quiet, agents.drain(deadlineMs)])
    },
    async drain(deadlineMs) {
      // Agents last, because running requests need them.
      await gateway.quiesce(deadlineMs)
      stopExpiry()
      // Idle upstream connections would delay the agents.
      router.close()
      await Promise.all([agents.drain(AGENT_DRAIN_MS), ssh?.close(), tracing?.close()])
      registry.close()
      await options.traffic?.settle()
      unfollow()
      metrics[Symbol.dispose]()
    },
  }
  await listen(listeners, options.addresses, bound).catch(async (error: unknown) => {
    await gateway.drain(0)
    throw error
  })
  await ports.settled()
  return gateway
}

/** The ports in public URLs are known once the listeners are open; nothing needs them before. */
function infoOf({ info, publicPorts }: GatewayOptions, bound: Bound): GatewayInfo {
  return {
    ...info,
    get httpPort() {
      return bound.http && (publicPorts.http ?? bound.http.port)
    },
    get httpsPort() {
      return bound.https && (publicPorts.https ?? bound.https.port)
    },
  }
}

function makeCertificates(
  { authority, info, addresses, keys, log }: GatewayOptions,
  records: Records,
  router: Router,
): Promise<Certificates> {
  const hosts = Object.values(addresses).flatMap(address => (address ? [address.host] : []))
  return Certificates.create({
    authority,
    log,
    names: defaultNames(info.domain, hosts),
    uploaded: name => records.certificate(name),
    serves: name => router.serves(name) || records.agentIngress(name) !== undefined,
    ticketKeys: keys.tickets,
  })
}

function makeSsh(
  { addresses, keys, log, sharesPorts, connectPeers }: GatewayOptions,
  parts: Pick<Gateway, 'info' | 'records' | 'registry'>,
): SshListener | undefined {
  const address = addresses.ssh
  if (address === undefined) return undefined
  return new SshListener({
    address,
    hostKey: keys.sshHost,
    deps: gatewayDeps({ ...parts, log }),
    info: parts.info,
    log,
    sharesPorts,
    // A client at another process appears here only as a connection, not as a request.
    requestLines: connectPeers === undefined,
  })
}

interface BackendParts {
  readonly directory: Directory
  readonly ssh: SshListener | undefined
  readonly dialer: AgentDialer
}

const makeBackend =
  ({ directory, ssh, dialer }: BackendParts): MakeBackend =>
  tunnel => {
    const { sessionId } = tunnel
    const isSsh = directory.sessions.get(sessionId)?.transport === 'ssh'
    const show = isSsh && ssh ? (line: string): void => ssh.onRequest(sessionId, line) : undefined
    const backend = tunnelBackend({ dialer, tunnel })
    return show ? withRequestLine(backend, show) : backend
  }

/** For cookies and addresses that browsers return; derived from a key that all processes have anyway. */
const signInKey = ({ proofs }: GatewayKeys): Buffer =>
  Buffer.from(hkdfSync('sha256', proofs, '', 'sign-in', 32))

function makeModules(
  { egress, oauth, userSessions, keys, log }: GatewayOptions,
  { info, records, placeAt }: Pick<Gateway, 'info' | 'records'> & { readonly placeAt: PlaceAt },
): { modules: Modules; signIn: SignIn } {
  const key = signInKey(keys)
  const saml = {
    prefix: SAML_PREFIX,
    handler: samlRoutes({ info, records, userSessions, placeAt, seal: new Seal(key), log }),
  }
  const signIn = createSignIn({ info, key, records, userSessions, placeAt, log, callbackRoutes: [saml] })
  return { signIn, modules: new Modules({ info, records, egress, signIn, oauth, log }) }
}

interface ListenerParts {
  readonly records: Records
  readonly router: Router
  readonly certificates: Certificates
  readonly challenges: TlsChallenges
  readonly metrics: GatewayMetrics
  readonly requests: RequestLog
  readonly tracing: Tracing | undefined
  readonly agents: Pick<AgentListener, 'adopt'> | undefined
}

function makeListeners(
  { log, info, traffic, directory, sharesPorts }: GatewayOptions,
  { records, router, certificates, challenges, metrics, requests, tracing, agents }: ListenerParts,
) {
  const admission = new Admission()
  const bytes = new ClientBytes()
  const shared = { admission, bytes, log, sharesPorts, traffic }
  metrics.bytes.in.from(() => bytes.received)
  metrics.bytes.out.from(() => bytes.sent)
  metrics.refusedConnections.from(() => admission.refused)
  const handshaken = (seconds: number): void => metrics.tlsHandshake.observe(seconds)
  const answer = tracing?.around(router.answer) ?? router.answer
  const observer = tracing?.observing(requests) ?? requests
  const isolation = info.isolatesHosts === true ? new SiteIsolation(info.domain) : undefined
  const served = { answer, observer, isolation }
  const http1 = (socket: Socket, client: HttpClientConnection) => serveHttp1(socket, { ...served, client })
  return {
    handshaken,
    http: new HttpListener({ ...shared, http1 }),
    https: new HttpsListener({
      ...shared,
      agents,
      certificates,
      handshaken,
      http1,
      http2: (socket, client) => serveHttp2(socket, { ...served, client }),
      onChange: changed => {
        records.onAnyChange(changed)
        directory.watch({ added: changed, removed: changed })
      },
      challenge: name => challenges.contextFor(name),
      route: ({ serverName }, { ip }) => router.serverName(serverName, ip),
    }),
    tcp: new TcpPorts({ ...shared, host: info.tcpHost }),
  }
}

interface Listeners {
  readonly http: HttpListener
  readonly https: HttpsListener
  readonly tcp: TcpPorts
  readonly agent: AgentListener
  readonly ssh: SshListener | undefined
}

interface Counted {
  readonly directory: Directory
  readonly info: GatewayInfo
}

function count(
  metrics: GatewayMetrics,
  { http, https, tcp, agent, ssh }: Listeners,
  { directory, info }: Counted,
): void {
  const { connections } = metrics
  const own = (records: ReadonlyMap<string, { readonly id: string; readonly node: string }>): number =>
    primaryOnly(records).filter(({ node }) => node === info.node).length
  connections.http.from(() => http.connections)
  connections.https.from(() => https.connections - https.streams)
  connections.tls.from(() => https.streams)
  connections.tcp.from(() => tcp.connections)
  connections.agent.from(() => agent.connections)
  if (ssh) connections.ssh.from(() => ssh.connections)
  metrics.agentSessions.from(() => own(directory.sessions))
  metrics.tunnelStreams.from(() => agent.streams + (ssh?.streams ?? 0))
  metrics.tunnels.from(() => own(directory.tunnels))
}

type Opens = Readonly<
  Record<ListenerName, { listen(address: ListenAddress): Promise<ListenAddress> } | undefined>
>

async function listen(listeners: Opens, addresses: GatewayOptions['addresses'], bound: Bound): Promise<void> {
  for (const name of listenerNames) {
    const [address, listener] = [addresses[name], listeners[name]]
    if (address === undefined || listener === undefined) continue
    try {
      bound[name] = await listener.listen(address)
    } catch (error) {
      throw new ListenError(name, address, error)
    }
  }
}
