import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectTls, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls'
import { newId, newToken } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import { tokenHash } from '#base/secrets.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import { AgentListener, type AgentListenerOptions } from '#gateway/listeners/agents.ts'
import { LocalDirectory } from '#registry/local-directory.ts'
import { Records } from '#registry/records/records.ts'
import type { Follower, Source, SourceRow } from '#registry/records/source.ts'
import { ResumptionTokens } from '#gateway/agents/resumption-tokens.ts'
import { AgentRegistry, type AgentRegistryOptions } from '#gateway/agents/agent-registry.ts'
import { Certificates, defaultNames } from '#tls/certificates.ts'
import { LocalAuthority, makeLocalRoot } from '#pki/local-authority.ts'
import { modulesFor } from '../module-parts.ts'
import type { JsonObject } from '#base/json-fields.ts'
import { answerHeartbeat } from '#tunnel/heartbeat.ts'
import * as messages from '#tunnel/messages.ts'
import { readProxyHeader } from '#tunnel/proxy-header.ts'
import { call, serve } from '#tunnel/rpc.ts'
import { MuxSession } from '#tunnel/mux-session.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import type { TunnelStream } from '#tunnel/stream.ts'
import { gatewayInfo } from '../../support/gateway-info.ts'
import { testLog } from '../../support/secrets.ts'

type Body = Record<string, unknown>

/** Configuration records in memory: the gateway is notified of a change before `put` returns. */
export class MemorySource implements Source {
  readonly #rows = new Map<string, SourceRow>()
  #follower: Follower | undefined
  /** How often it was read for what others have changed. */
  refreshes = 0
  /** A change by another process, which the gateway does not notice before it polls. */
  elsewhere: (() => void) | undefined

  async refresh(): Promise<void> {
    this.refreshes++
    this.elsewhere?.()
  }

  async watch(_kinds: readonly string[], follower: Follower): Promise<() => void> {
    this.#follower = follower
    follower.snapshot([...this.#rows.values()])
    return () => (this.#follower = undefined)
  }

  put(kind: string, id: string, body: Body, options: { parent?: string; readable?: boolean } = {}): string {
    return this.putAsIs(kind, id, { id, ...body }, options)
  }

  /** The same with this very body, which may be one that cannot be copied. */
  putAsIs(
    kind: string,
    id: string,
    body: Body,
    options: { parent?: string; readable?: boolean } = {},
  ): string {
    const version = (this.#rows.get(id)?.version ?? 0) + 1
    const { parent = null, readable = true } = options
    const row: SourceRow = { kind, id, parent, version, body, readable }
    this.#rows.set(id, row)
    this.#follower?.changes([{ op: 'put', row }])
    return id
  }

  remove(id: string): void {
    const kind = this.#rows.get(id)?.kind ?? ''
    this.#rows.delete(id)
    this.#follower?.changes([{ op: 'remove', kind, id }])
  }

  /** A user that owns credentials. */
  user(id: string, body: Body = {}): string {
    return this.put('user', id, { role: 'member', active: true, email: `${id}@example.com`, ...body })
  }

  /** A new credential of a user, and its token. */
  credential(acl: readonly string[] = [], owner = 'usr_1'): { id: string; token: string } {
    const id = newId('cr')
    const token = newToken(id)
    if (!this.#rows.has(owner)) this.user(owner)
    this.put('credential', id, { token_hash: tokenHash(token), acl, owner_id: owner })
    return { id, token }
  }

  /** Allows only these ranges. */
  restrict(type: 'agent' | 'endpoints', enforced: boolean, ...ranges: string[]): string {
    const policy = this.put('ip_policy', newId('ipp'), {})
    for (const cidr of ranges)
      this.put(
        'ip_policy_rule',
        newId('ipr'),
        { cidr, action: 'allow', ip_policy: policy },
        { parent: policy },
      )
    return this.put('ip_restriction', newId('ipx'), { type, enforced, ip_policies: [policy] })
  }
}

export const info = gatewayInfo({ version: '0.1.0-test', httpPort: 8080, httpsPort: 8443 })

/** Records log lines. */
export function recordingLog(): { log: Log; lines: { level: string; fields: Body; text: string }[] } {
  const lines: { level: string; fields: Body; text: string }[] = []
  const at = (level: string) => (fields: Body, text: string) => void lines.push({ level, fields, text })
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  return { log: log as unknown as Log, lines }
}

let authority: Promise<LocalAuthority> | undefined

export interface GatewayOptions {
  readonly info?: Partial<GatewayInfo>
  readonly sessions?: Partial<AgentRegistryOptions>
  readonly agents?: Partial<AgentListenerOptions>
  readonly log?: Log
}

/** The agent listener of a gateway, on a free port. */
export async function startGateway(options: GatewayOptions = {}) {
  authority ??= makeLocalRoot('test').then(root => LocalAuthority.open(root))
  const { log = testLog() } = options
  const source = new MemorySource()
  const records = new Records(log)
  await records.follow(source)
  const directory = new LocalDirectory()
  const resumption = new ResumptionTokens(randomBytes(32))
  const all = { ...info, ...options.info }
  const modules = modulesFor(all, records)
  const shared = { info: all, records, directory, resumption, modules, log }
  const registry = new AgentRegistry({ ...shared, ...options.sessions })
  const certificates = await Certificates.create({
    authority: await authority,
    names: defaultNames(all.domain, []),
    uploaded: name => records.certificate(name),
    serves: () => false,
    log,
  })
  const listener = new AgentListener({ ...shared, registry, certificates, ...options.agents })
  const { port } = await listener.listen({ host: '127.0.0.1', port: 0 })
  return {
    ...shared,
    source,
    sessions: registry,
    listener,
    port,
    rootPem: (await authority).rootPem,
    async [Symbol.asyncDispose]() {
      await listener.drain(0)
      registry.close()
    },
  }
}

export type Gateway = Awaited<ReturnType<typeof startGateway>>

type ReachedGateway = Pick<Gateway, 'port' | 'rootPem'> & { readonly host?: string }

export interface AgentSettings {
  readonly userAgent?: string
  readonly alpn?: string[]
  /** The name in the handshake. */
  readonly serverName?: string
  /** The TLS session of an earlier connection. */
  readonly resumed?: Buffer | undefined
  /** Answers nothing, as an agent whose program is stopped. */
  readonly mute?: boolean
  /** Answers a command; undefined: never. */
  readonly command?: (type: number) => object | undefined
}

const contexts = new Map<string, SecureContext>()

/** An agent has one for all of its connections. */
function contextFor(rootPem: string): SecureContext {
  const context = contexts.get(rootPem) ?? createSecureContext({ ca: rootPem })
  contexts.set(rootPem, context)
  return context
}

/** An agent that speaks the protocol as the official ones do. */
export class TestAgent {
  readonly session: MuxSession
  readonly socket: TLSSocket
  readonly commands: number[] = []
  readonly stopped: messages.StopTunnelRequest[] = []
  /** What came through proxy streams. */
  readonly proxied: { header: messages.ProxyHeader; stream: TunnelStream }[] = []
  onProxied: ((stream: TunnelStream, header: messages.ProxyHeader) => void) | undefined
  clientId = ''
  cookie = ''
  /** To resume it on another connection. */
  tlsSession: Buffer | undefined
  readonly #settings: AgentSettings

  private constructor(socket: TLSSocket, settings: AgentSettings) {
    this.socket = socket
    this.#settings = settings
    // A resumed one has no new tickets.
    this.tlsSession = settings.resumed
    socket.on('session', session => (this.tlsSession = session))
    this.session = new MuxSession(socket, {
      role: 'client',
      accept: (type, stream) => this.#accept(type, stream),
    })
  }

  static async connect(gateway: ReachedGateway, settings: AgentSettings = {}): Promise<TestAgent> {
    const socket = connectTls({
      host: gateway.host ?? '127.0.0.1',
      port: gateway.port,
      secureContext: contextFor(gateway.rootPem),
      session: settings.resumed,
      ...(settings.alpn && { ALPNProtocols: settings.alpn }),
      ...(settings.serverName !== undefined && { servername: settings.serverName }),
    })
    await once(socket, 'secureConnect')
    return new TestAgent(socket, settings)
  }

  /** Connected and signed in. */
  static async signIn(gateway: Gateway, token: string, settings: AgentSettings = {}): Promise<TestAgent> {
    const agent = await TestAgent.connect(gateway, settings)
    const { Error: refusal } = await agent.auth(token)
    if (refusal !== '') throw new Error(refusal)
    return agent
  }

  async auth(token: string, extra: Body = {}): Promise<messages.AuthAnswer> {
    const request = {
      Version: ['3', '2'],
      ClientId: this.clientId,
      Extra: {
        OS: 'linux',
        Arch: 'x86_64',
        AuthToken: token,
        Version: '1.7.0',
        UserAgent: this.#settings.userAgent ?? 'adit/1.0',
        Metadata: 'about me',
        Cookie: this.cookie,
        UpdateUnsupportedError: '',
        StopUnsupportedError: '',
        RestartUnsupportedError: '',
        ...extra,
      },
    }
    const answer = await call(this.session, { type: streamTypes.auth, request, answer: messages.authAnswer })
    if (answer.Error === '') {
      this.clientId = answer.ClientId
      this.cookie = answer.Extra.Cookie
    }
    return answer
  }

  bind(
    proto: string,
    opts: JsonObject = {},
    rest: { id?: string; extra?: Body; forwardsProto?: string } = {},
  ) {
    const request = {
      Id: rest.id ?? '',
      Proto: proto,
      ForwardsTo: 'localhost:80',
      ForwardsProto: rest.forwardsProto ?? '',
      Opts: opts,
      Extra: { Token: '', Metadata: 'a tunnel', ...rest.extra },
    }
    return call(this.session, { type: streamTypes.bind, request, answer: messages.bindAnswer })
  }

  /** Asks for a tunnel again, as agents do after a reconnect: with our own answer. */
  rebind(before: messages.BindAnswer, opts: JsonObject = before.Opts) {
    return this.bind(before.Proto, opts, { id: before.Id, extra: { Token: before.Extra.Token } })
  }

  label(labels: Record<string, string>) {
    const request = { Labels: labels, ForwardsTo: 'localhost:80', ForwardsProto: '', Metadata: 'labelled' }
    const answer = messages.startTunnelWithLabelAnswer
    return call(this.session, { type: streamTypes.startTunnelWithLabel, request, answer })
  }

  unbind(id: string) {
    return call(this.session, {
      type: streamTypes.unbind,
      request: { Id: id },
      answer: messages.unbindAnswer,
    })
  }

  patch(request: object) {
    return call(this.session, { type: streamTypes.patchTunnelState, request, answer: messages.plainAnswer })
  }

  /** The connection is reset without GOAWAY. */
  drop(): void {
    this.socket.destroy()
  }

  #accept(type: number, stream: TunnelStream): void {
    if (this.#settings.mute) return
    if (type === streamTypes.heartbeat) answerHeartbeat(stream)
    else if (type === streamTypes.proxy) void this.#proxy(stream)
    else if (type === streamTypes.stopTunnel) void this.#stopTunnel(stream)
    else this.#command(type, stream)
  }

  async #proxy(stream: TunnelStream): Promise<void> {
    const header = await readProxyHeader(stream)
    this.proxied.push({ header, stream })
    this.onProxied?.(stream, header)
  }

  async #stopTunnel(stream: TunnelStream): Promise<void> {
    const handle = async (request: messages.StopTunnelRequest) => {
      this.stopped.push(request)
      return {}
    }
    await serve(stream, { request: messages.stopTunnelRequest, handle })
  }

  #command(type: number, stream: TunnelStream): void {
    this.commands.push(type)
    const answer = this.#settings.command?.(type)
    if (answer === undefined) return
    const handle = async () => answer
    void serve(stream, { request: messages.emptyRequest, handle }).catch(() => undefined)
  }
}
