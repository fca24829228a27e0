import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { fail, type Problem } from '#base/errors.ts'
import { newId } from '#base/ids.ts'
import { Secret } from '#base/secrets.ts'
import type { EndpointAddress, SessionRecord, TunnelRecord } from '#registry/directory.ts'
import type { AgentConnection } from '#registry/agent-dialer.ts'
import { SshListener } from '#ssh/listener.ts'
import type { SshDeps, TunnelRequest } from '#ssh/deps.ts'
import type { KeyMatch } from '#ssh/key-match.ts'
import type { SshLimits } from '#ssh/limits.ts'
import type { TrustedAuthority } from '#ssh/sign-in.ts'
import { readSshPublicKey } from '#pki/ssh-key.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import { RecordingSink } from '../tunnel/support.ts'
import { gatewayInfo } from '../support/gateway-info.ts'
import { testLog } from '../support/secrets.ts'
import { until } from '../support/until.ts'
import { tunnelRecord } from '../support/records.ts'

export const INFO = gatewayInfo({
  domain: 'gw.test',
  region: 'here',
  tcp_ports: { first: 20_000, last: 20_999 },
  randomTcpPorts: { first: 20_500, last: 20_999 },
})

/** The rest of a gateway, as far as the SSH listener sees it: keys, sessions and tunnels in memory. */
class MemoryGateway implements SshDeps {
  readonly sessions = new Map<string, { record: SessionRecord; connection: AgentConnection }>()
  readonly tunnels = new Map<string, { record: TunnelRecord; wish: TunnelRequest; released: boolean }>()
  readonly keys = new Map<string, string>()
  trusted: TrustedAuthority[] = []
  barred: Problem | undefined
  refuseSession: Problem | undefined
  #random = 0

  readonly ring = {
    credential: (fingerprint: string): KeyMatch => {
      const credentialId = this.keys.get(fingerprint)
      return credentialId === undefined ? { refused: 'unknown_key' } : { credentialId }
    },
    authorities: () => this.trusted,
    refresh: async () => undefined,
  }

  /** Registers a public key line; returns the id of its credential. */
  register(line: string): string {
    const id = newId('cr')
    this.keys.set(readSshPublicKey(line).fingerprint, id)
    return id
  }

  refusal(): Problem | undefined {
    return this.barred
  }

  async add(record: SessionRecord, connection: AgentConnection): Promise<void> {
    if (this.refuseSession) throw this.refuseSession
    this.sessions.set(record.id, { record, connection })
  }

  async remove(sessionId: string): Promise<void> {
    this.sessions.delete(sessionId)
    for (const [id, { record }] of this.tunnels) if (record.sessionId === sessionId) this.tunnels.delete(id)
  }

  async bind(sessionId: string, request: TunnelRequest): Promise<TunnelRecord> {
    const address = this.#address(request)
    const url = address ? urlOf(address) : ''
    if (url !== '' && [...this.tunnels.values()].some(({ record }) => record.url === url))
      fail('address_taken', { url, where: '' })
    const { metadata, forwardsTo, labels } = request
    const { node } = INFO
    const record = tunnelRecord({
      id: newId('tn'),
      sessionId,
      node,
      address,
      url,
      labels,
      forwardsTo,
      metadata,
    })
    this.tunnels.set(record.id, { record, wish: request, released: false })
    return record
  }

  markReady(_: string, tunnelId: string): void {
    const tunnel = this.tunnels.get(tunnelId)
    if (tunnel) tunnel.released = true
  }

  async unbind(_: string, tunnelId: string): Promise<void> {
    this.tunnels.delete(tunnelId)
  }

  tunnelAt(url: RegExp): TunnelRecord {
    const found = [...this.tunnels.values()].find(({ record, released }) => released && url.test(record.url))
    return found?.record ?? assert.fail(`no tunnel is at ${url}`)
  }

  requests(): TunnelRequest[] {
    return [...this.tunnels.values()].map(({ wish: request }) => request)
  }

  onlySession(): { record: SessionRecord; connection: AgentConnection } {
    const [session, ...others] = this.sessions.values()
    assert.deepEqual(others, [])
    return session ?? assert.fail('no session')
  }

  /** Connects to an endpoint as a client. */
  visit(url: RegExp, first = ''): Promise<ByteStream> {
    const tunnel = this.tunnelAt(url)
    const { connection } = this.sessions.get(tunnel.sessionId) ?? assert.fail('the session is gone')
    const header = {
      Id: tunnel.id,
      ClientAddr: '203.0.113.7:40001',
      Proto: tunnel.address?.scheme ?? '',
      EdgeType: '0',
      PassthroughTLS: false,
    }
    return connection.dial(tunnel, header, Buffer.from(first))
  }

  /** Sends a whole request and returns the whole response. */
  async ask(url: RegExp, text: string): Promise<string> {
    const stream = await this.visit(url, text)
    const ear = new RecordingSink()
    stream.attach(ear)
    stream.end()
    assert.equal(await ear.whenClosed, undefined)
    return ear.text
  }

  #address({ scheme, host, port, labels }: TunnelRequest): EndpointAddress | undefined {
    if (Object.keys(labels).length > 0) return undefined
    if (scheme === 'tcp')
      return { scheme, host: '127.0.0.1', port: port === 0 ? 20_500 + this.#random++ : port }
    const name = host === '' ? `random-${this.#random++}` : host
    return { scheme, host: name.includes('.') ? name : `${name}.${INFO.domain}` }
  }
}

const urlOf = (address: EndpointAddress): string =>
  address.scheme === 'tcp' ? `tcp://${address.host}:${address.port}` : `${address.scheme}://${address.host}`

/** An SSH listener on a loopback port with a gateway in memory behind it. */
export class TestListener implements AsyncDisposable {
  readonly gateway = new MemoryGateway()
  readonly listener: SshListener
  port = 0

  private constructor(limits: Partial<SshLimits>, deps?: SshDeps) {
    this.listener = new SshListener({
      address: { host: '127.0.0.1', port: 0 },
      hostKey: newHostKey(),
      deps: deps ?? this.gateway,
      info: INFO,
      log: testLog(),
      limits: { leaveWait: 300, closeWait: 500, ...limits },
    })
  }

  static async start(limits: Partial<SshLimits> = {}, deps?: SshDeps): Promise<TestListener> {
    const started = new TestListener(limits, deps)
    started.port = await started.listener.listen()
    return started
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.listener.close()
  }
}

export const newHostKey = (): Secret => {
  const { privateKey } = generateKeyPairSync('ed25519')
  return new Secret(privateKey.export({ type: 'pkcs8', format: 'pem' }))
}

/** A real ssh client, which reads no configuration of the user who runs the test. */
export class SshProcess implements AsyncDisposable {
  readonly child: ChildProcess
  readonly ended: Promise<number>
  stdout = ''
  stderr = ''
  #wake = Promise.withResolvers<void>()
  /** All that it wrote was read. */
  #isOver = false

  constructor(args: readonly string[], program: 'ssh' | 'dbclient' = 'ssh') {
    this.child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#take('stdout', text))
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => this.#take('stderr', text))
    this.ended = once(this.child, 'close').then(([code]) => Number(code ?? -1))
    this.child.once('close', () => {
      this.#isOver = true
      this.#wake.resolve()
    })
  }

  #take(stream: 'stdout' | 'stderr', text: string): void {
    this[stream] += text
    this.#wake.resolve()
    this.#wake = Promise.withResolvers()
  }

  /** Resolves when its output matches. */
  async waitForOutput(pattern: RegExp, stream: 'stdout' | 'stderr' = 'stdout'): Promise<void> {
    const what = () => `${pattern} is shown, after:
${this.stdout}
${this.stderr}`
    const look = () => {
      const isShown = pattern.test(this[stream])
      if (!isShown && this.#isOver) assert.fail(`ssh ended before ${what()}`)
      return isShown
    }
    await until(look, { what, next: () => this.#wake.promise })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null) this.child.kill('SIGTERM')
    await this.ended
  }
}

const OPTIONS = [
  'BatchMode=yes',
  'StrictHostKeyChecking=no',
  'UserKnownHostsFile=/dev/null',
  'GlobalKnownHostsFile=/dev/null',
  'IdentityAgent=none',
  'IdentitiesOnly=yes',
  'LogLevel=ERROR',
  'ConnectTimeout=10',
]

export interface SshCall {
  readonly port: number
  readonly key: string
  readonly user?: string
  /** Before ours, which ssh then leaves as they are. */
  readonly options?: readonly string[]
  readonly flags?: readonly string[]
  readonly command?: readonly string[]
}

export function ssh({
  port,
  key,
  user = 'ann',
  options = [],
  flags = [],
  command = [],
}: SshCall): SshProcess {
  const settings = [...options, `IdentityFile=${key}`, ...OPTIONS].flatMap(option => ['-o', option])
  const target = ['-p', String(port), `${user}@127.0.0.1`]
  return new SshProcess(['-F', '/dev/null', ...settings, ...flags, ...target, ...command])
}

/** A service on loopback that ssh forwards to. */
export class Upstream implements AsyncDisposable {
  readonly sockets = new Set<Socket>()
  readonly #server

  private constructor(handle: (socket: Socket) => void) {
    this.#server = createServer({ allowHalfOpen: true }, socket => {
      this.sockets.add(socket)
      socket.on('error', () => undefined)
      socket.once('close', () => this.sockets.delete(socket))
      handle(socket)
    })
  }

  static async start(handle: (socket: Socket) => void): Promise<Upstream> {
    const upstream = new Upstream(handle)
    upstream.#server.listen(0, '127.0.0.1')
    await once(upstream.#server, 'listening')
    return upstream
  }

  /** Responds with the received bytes in upper case, once the client has finished. */
  static echo(): Promise<Upstream> {
    return Upstream.start(socket => {
      let text = ''
      socket.setEncoding('utf8').on('data', (part: string) => (text += part))
      socket.once('end', () => socket.end(text.toUpperCase()))
    })
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.sockets.forEach(socket => socket.destroy())
    this.#server.close()
    await once(this.#server, 'close')
  }
}
