import { pageTheme } from '#http/pages/theme.ts'
import { hkdfSync } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { setLogLevel } from '#base/log.ts'
import { apiHost, dashboardHost } from '#base/own-names.ts'
import type { GatewaySettings } from '#base/settings.ts'
import { changesApplications } from '#auth/providers/setup.ts'
import { SAML_PREFIX } from '#auth/saml/service-provider.ts'
import { samlRoutes } from '#auth/saml/saml-routes.ts'
import { Seal } from '#auth/sign-in/seal.ts'
import { createSignIn } from '#auth/sign-in/service.ts'
import type { RealmsAt, SignIn } from '#auth/sign-in/sign-in.ts'
import { AgentRegistry } from '#gateway/agents/agent-registry.ts'
import { ResumptionTokens } from '#gateway/agents/resumption-tokens.ts'
import { gatewayDeps } from '#gateway/agents/ssh-deps.ts'
import type { MakeBackend } from '#gateway/backends/backend.ts'
import { apiBackend } from '#gateway/backends/api.ts'
import { tunnelBackend } from '#gateway/backends/tunnel.ts'
import { type ClientListeners, makeClientListeners } from '#gateway/client-listeners.ts'
import { countConnections } from '#gateway/connection-metrics.ts'
import type { GatewayKeys, GatewayOptions } from '#gateway/gateway-options.ts'
import type { ListenAddress } from '#gateway/listeners/acceptor.ts'
import { AgentListener } from '#gateway/listeners/agents.ts'
import { ClosingSockets } from '#gateway/listeners/closing-sockets.ts'
import { Modules } from '#gateway/modules/index.ts'
import { ModuleState } from '#gateway/modules/module-state.ts'
import { type BoundAddresses, openListeners } from '#gateway/open-listeners.ts'
import { RequestReplays } from '#gateway/request-replays.ts'
import { explainRequest } from '#gateway/routing/explain.ts'
import { Router, type RouterOptions } from '#gateway/routing/router.ts'
import { TcpPortReconciler } from '#gateway/routing/tcp-port-reconciler.ts'
import { withRequestLine } from '#gateway/with-request-line.ts'
import type { AgentDialer } from '#registry/agent-dialer.ts'
import type { Directory } from '#registry/directory.ts'
import type { ExplainRequest } from '#contract/route-explanation.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import { Records } from '#registry/records/records.ts'
import { SshListener } from '#ssh/listener.ts'
import { Captures } from '#telemetry/capture/captures.ts'
import { GatewayMetrics } from '#telemetry/metrics.ts'
import { RequestLog } from '#telemetry/request-log/request-log.ts'
import { Tracing } from '#telemetry/tracing/tracing.ts'
import { Certificates, defaultNames } from '#tls/certificates.ts'
import { evictReplacedCertificates } from '#tls/evict-replaced-certificates.ts'
import { watchExpiry } from '#tls/expiry.ts'

export interface Gateway {
  readonly bound: Readonly<BoundAddresses>
  readonly info: GatewayInfo
  readonly records: Records
  /** The agents of this process. */
  readonly registry: AgentRegistry
  readonly metrics: GatewayMetrics
  readonly requests: RequestLog
  /** What would handle a request, without sending it. */
  readonly explain: ExplainRequest
  readonly captures: Captures
  readonly replays: RequestReplays
  /** Reaches the agents of all processes. */
  readonly dialer: AgentDialer
  /** Connections of clients. */
  readonly clientConnections: () => number
  /** Applies new values of settings that need no restart. */
  reload(changes: Partial<GatewaySettings>): void
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

/** Starts the data plane of one process. If a step fails, what was opened is closed as in a stop. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  await using opened = new AsyncDisposableStack()
  const { directory, log, limits, traffic, usage, sharesPorts } = options
  const bound: BoundAddresses = {}
  const info = infoOf(options, bound)
  const metrics = opened.use(new GatewayMetrics(info.version))
  const records = new Records(log)
  opened.defer(await records.follow(options.source))
  opened.defer(async () => traffic?.settle())
  opened.defer(async () => usage?.settle())
  // The router is made below, and needed only once the listeners are open.
  const realmsAt: RealmsAt = (scheme, host) => router.signInRealms(scheme, host)
  const { modules, signIn } = makeModules(options, { info, records, realmsAt })
  const resumption = new ResumptionTokens(options.keys.proofs)
  const { otherNodes } = options
  const common = { info, records, directory, log, modules, resumption, otherNodes }
  const registry: AgentRegistry = opened.adopt(
    new AgentRegistry({ ...common, limits, probe: id => dialer.probe(id) }),
    it => it.close(),
  )
  const dialer: AgentDialer = (await options.connectPeers?.(registry)) ?? registry
  const certificates = await makeCertificates(options, records, name => router.serves(name))
  evictReplacedCertificates(records, certificates)
  const handshaken = (seconds: number): void => metrics.tlsHandshake.observe(seconds)
  const closing = new ClosingSockets()
  const agents = new AgentListener({ ...common, registry, certificates, sharesPorts, handshaken, closing })
  const ssh = makeSsh(options, { info, records, registry })
  const tracing = options.tracing && new Tracing({ ...options.tracing, info, metrics, log })
  opened.defer(async () => {
    await Promise.all([agents.drain(AGENT_DRAIN_MS), ssh?.close(), tracing?.close()])
  })
  // Closed before the agents, which its idle upstream connections would delay.
  const captures = opened.adopt(new Captures(info, records, log), it => it.close())
  metrics.captureBytes.from(() => captures.bytes)
  metrics.capturesUnsaved.from(() => captures.unsaved)
  const router: Router = opened.adopt(makeRouter(options, { ...common, captures, dialer, ssh, signIn }), it =>
    it.close(),
  )
  const defaultEnd = (): number => certificates.defaultEnd
  opened.defer(watchExpiry(metrics, { info, records, log, defaultEnd }))
  const requests = new RequestLog({ metrics, log, traffic, usage, captures, ...options.requests })
  const theme = pageTheme(info)
  const replays = new RequestReplays({ captures, router, observer: requests, log, theme })
  const served = { records, router, certificates, metrics, requests, tracing, handshaken, closing }
  const clients = makeClientListeners(
    { ...options, info },
    { ...served, agents: options.addresses.agent && agents },
  )
  countConnections(metrics, { ...clients, agent: agents, ssh }, { directory, info })
  const ports = new TcpPortReconciler({ ...common, router, ports: clients.tcp })
  const { quiesce, moveOut } = shutdownSteps({ clients, ports, router, agents })
  let drainMs = 0
  // Clients first, because running requests need the agents.
  opened.defer(() => quiesce(drainMs))
  await openListeners({ ...clients, agent: agents, ssh: ssh && portOnly(ssh) }, options.addresses, bound)
  await ports.settled()
  const running = opened.move()
  const drain = (deadlineMs: number): Promise<void> => {
    drainMs = deadlineMs
    return running.disposeAsync()
  }
  const explain: ExplainRequest = request => explainRequest(router, records, request)
  const { http, https, tcp } = clients
  const clientConnections = (): number => http.connections + https.connections + tcp.connections
  const live = { requests, captures, replays, explain, dialer, clientConnections }
  const reload = (changes: Partial<GatewaySettings>): void => {
    for (const each of [options.info, info]) Object.assign(each, changes)
    if (changes.log_level !== undefined) setLogLevel(log, changes.log_level)
    if (!changesApplications(changes)) return
    modules.forgetApplications()
    router.recompile()
  }
  return { bound, info, records, registry, metrics, ...live, reload, quiesce, moveOut, drain }
}

/** The SSH listener knows its host. */
const portOnly = (ssh: SshListener) => ({
  listen: async ({ host }: ListenAddress) => ({ host, port: await ssh.listen() }),
})

interface ShutdownParts {
  readonly clients: ClientListeners
  readonly ports: TcpPortReconciler
  readonly router: Router
  readonly agents: AgentListener
}

/** What a gateway does before it is closed. */
function shutdownSteps({
  clients,
  ports,
  router,
  agents,
}: ShutdownParts): Pick<Gateway, 'quiesce' | 'moveOut'> {
  const quiesce = async (deadlineMs: number): Promise<void> => {
    const { http, https, tcp } = clients
    ports.close()
    await Promise.all([http.drain(deadlineMs), https.drain(deadlineMs), tcp.drain(deadlineMs)])
  }
  const moveOut = async (deadlineMs: number): Promise<void> => {
    const quiet = quiesce(deadlineMs)
    // Requests that have just arrived must find their agent.
    await Promise.race([quiet, setTimeout(ARRIVED_MS, undefined, { ref: false })])
    router.close()
    await Promise.all([quiet, agents.drain(deadlineMs)])
  }
  return { quiesce, moveOut }
}

/** The ports in public URLs are known once the listeners are open; nothing needs them before. */
function infoOf({ info, publicPorts }: GatewayOptions, bound: BoundAddresses): GatewayInfo {
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
  routes: (name: string) => boolean,
): Promise<Certificates> {
  const hosts = Object.values(addresses).flatMap(address => (address ? [address.host] : []))
  return Certificates.create({
    authority,
    log,
    names: defaultNames(info.domain, hosts),
    uploaded: name => records.certificate(name),
    serves: name => routes(name) || records.agentIngress(name) !== undefined,
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

interface RouterParts extends Omit<RouterOptions, 'api' | 'backend' | 'egress' | 'central' | 'recent'> {
  readonly ssh: SshListener | undefined
  readonly signIn: SignIn
}

function makeRouter(
  { egress, apiSocket, recentNames = [] }: GatewayOptions,
  { signIn, ...parts }: RouterParts,
): Router {
  const { domain } = parts.info
  return new Router({
    ...parts,
    egress,
    api: apiSocket === undefined ? undefined : apiAt(domain, apiSocket),
    backend: makeBackend(parts),
    central: head => signIn.callbackHandler(head),
    recent: { before: recentNames },
  })
}

const apiAt = (domain: string, socket: string): RouterOptions['api'] => ({
  hosts: new Set([apiHost(domain), dashboardHost(domain)]),
  backend: apiBackend(socket),
})

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
  { info, records, realmsAt }: Pick<Gateway, 'info' | 'records'> & { readonly realmsAt: RealmsAt },
): { modules: Modules; signIn: SignIn } {
  const key = signInKey(keys)
  const saml = {
    prefix: SAML_PREFIX,
    handler: samlRoutes({ info, records, userSessions, realmsAt, seal: new Seal(key), log }),
  }
  const signIn = createSignIn({ info, key, records, userSessions, realmsAt, log, callbackRoutes: [saml] })
  return {
    signIn,
    modules: new Modules({ info, records, egress, signIn, oauth, state: new ModuleState(), log }),
  }
}
