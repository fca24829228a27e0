import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import ssh2 from 'ssh2'
import type { ClientInfo, Connection as SshClient, ServerConfig } from 'ssh2'
import { listenOn, type SharesPorts } from '#base/listen-on.ts'
import { clientNetwork } from '#base/client-network.ts'
import type { Log } from '#base/log.ts'
import type { Secret } from '#base/secrets.ts'
import type { AddressSetting } from '#base/setting-values.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import { plainAddress } from '#base/addresses.ts'
import { algorithms } from '#ssh/algorithms.ts'
import { SshConnection } from '#ssh/connection.ts'
import type { SshDeps } from '#ssh/deps.ts'
import { SshAuthenticator } from '#ssh/ssh-authenticator.ts'
import { opensshHostKey } from '#ssh/host-key.ts'
import { DEFAULT_SSH_LIMITS, type SshLimits } from '#ssh/limits.ts'
import { SshPenalties } from '#ssh/penalties.ts'
import { limitRekeys } from '#ssh/rekeys.ts'
import type { SshIdentity, KeyRing } from '#ssh/sign-in.ts'
import { Startups } from '#ssh/startups.ts'
import { ProxiedSockets } from '#tunnel/proxied-sockets.ts'

interface SshListenerOptions {
  readonly address: AddressSetting
  /** Ed25519, PKCS #8. */
  readonly hostKey: Secret
  readonly deps: SshDeps
  readonly info: GatewayInfo
  readonly log: Log
  readonly limits?: Partial<SshLimits>
  /** True when the HTTP path calls `onRequest` for each request. */
  readonly requestLines?: boolean
  /** Several processes share the port. */
  readonly sharesPorts?: SharesPorts | undefined
}

interface PendingClient {
  readonly socket: Socket
  readonly source: string
  readonly ip: string
  /** It has signed in or disconnected, and no longer counts as pending. */
  readonly settle: () => void
  /** Signing in from its address is not allowed. */
  readonly barred: boolean
}

const NO_KEYS: KeyRing = {
  credential: () => ({ refused: 'unknown_key' }),
  authorities: () => [],
  refresh: async () => undefined,
}

/** Accepts `ssh -R`: a known key gets a session, and each -R becomes a tunnel. */
export class SshListener implements AsyncDisposable {
  readonly #options: SshListenerOptions
  readonly #limits: SshLimits
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  /** Connections that have not signed in yet. */
  readonly #unauthenticated = new Set<Socket>()
  readonly #connections = new Map<string, SshConnection>()
  readonly #startups: Startups
  readonly #penalties: SshPenalties
  readonly #config: ServerConfig

  constructor(options: SshListenerOptions) {
    this.#options = options
    this.#limits = { ...DEFAULT_SSH_LIMITS, ...options.limits }
    this.#startups = new Startups(this.#limits.startups)
    this.#penalties = new SshPenalties(this.#limits.penalties, Date.now)
    this.#config = {
      hostKeys: [opensshHostKey(options.hostKey).reveal()],
      ident: 'adit',
      algorithms,
      keepaliveInterval: this.#limits.keepaliveInterval,
      keepaliveCountMax: this.#limits.keepaliveMisses,
    }
    const proxied = new ProxiedSockets({ settings: options.info, listener: 'ssh', log: options.log })
    this.#server = createServer({ noDelay: true }, socket =>
      proxied.receive(socket, () => this.#onSocket(socket)),
    )
  }

  get connections(): number {
    return this.#sockets.size
  }

  /** Open connections through ssh connections. */
  get streams(): number {
    return [...this.#connections.values()].reduce((sum, { streams }) => sum + streams, 0)
  }

  /** Resolves to the port. */
  async listen(): Promise<number> {
    const { address, sharesPorts } = this.#options
    await listenOn(this.#server, address, sharesPorts)
    this.#server.on('error', error => this.#options.log.error({ error }, 'the ssh listener failed'))
    return (this.#server.address() as AddressInfo).port
  }

  /** Shows a line about a request to the owner of the tunnel. */
  onRequest(sessionId: string, line: string): void {
    this.#connections.get(sessionId)?.onRequest(line)
  }

  /** Stops accepting; open connections stay. */
  drain(): void {
    if (this.#server.listening) this.#server.close()
  }

  /** Closes all connections; those that do not close in time are aborted. */
  async close(): Promise<void> {
    this.drain()
    this.#unauthenticated.forEach(socket => socket.destroy())
    this.#connections.forEach(connection => connection.close('The gateway is stopping.'))
    const cut = setTimeout(() => this.#sockets.forEach(socket => socket.destroy()), this.#limits.closeWait)
    await Promise.all([...this.#sockets].map(socket => once(socket, 'close')))
    clearTimeout(cut)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #onSocket(socket: Socket): void {
    const ip = plainAddress(socket.remoteAddress ?? '')
    const source = clientNetwork(ip)
    const leave = this.#penalties.mayConnect(source) ? this.#startups.enter(source) : undefined
    if (leave === undefined || ip === '') {
      leave?.()
      socket.destroy()
      return
    }
    this.#sockets.add(socket)
    const grace = setTimeout(() => {
      this.#penalties.add(source, 'late')
      socket.destroy()
    }, this.#limits.graceTime)
    this.#unauthenticated.add(socket)
    const settle = (): void => {
      clearTimeout(grace)
      this.#unauthenticated.delete(socket)
      leave()
    }
    socket.once('close', () => {
      settle()
      this.#sockets.delete(socket)
    })
    const refusal = this.#options.deps.refusal(ip)
    const config = refusal ? { ...this.#config, banner: `${refusal.message}\r\n` } : this.#config
    // A server per connection, because ssh2 reports a client without its socket.
    const server = new ssh2.Server(config, (client, info) =>
      this.#onClient(client, info, { socket, source, ip, settle, barred: refusal !== undefined }),
    )
    server.injectSocket(socket)
    // The reader of a PROXY header leaves it paused.
    socket.resume()
  }

  #onClient(client: SshClient, { header }: ClientInfo, pending: PendingClient): void {
    const { socket, source, ip, settle, barred } = pending
    const { deps, log } = this.#options
    client.on('error', error => {
      log.debug({ error, ip }, 'an ssh connection failed')
      // After ssh2's graceful close a dead or hostile peer would keep the socket half-open.
      socket.destroySoon()
    })
    const authenticator = new SshAuthenticator({
      client,
      ip,
      ring: barred ? NO_KEYS : deps.ring,
      log,
      maxFailures: this.#limits.maxFailures,
      onSignIn: identity => {
        settle()
        this.#penalties.forgive(source)
        this.#onSignIn(client, pending, identity, header.versions.software)
      },
    })
    let signedIn = false
    client.once('ready', () => {
      signedIn = true
    })
    limitRekeys(client, socket, this.#limits.rekeys)
    socket.once('close', () => {
      if (!signedIn && authenticator.failures > 0) this.#penalties.add(source, 'refused')
      else if (!signedIn) this.#penalties.add(source, 'unused')
    })
  }

  #onSignIn(client: SshClient, { socket, ip }: PendingClient, identity: SshIdentity, ident: string): void {
    const { deps, info, log, requestLines = false } = this.#options
    const peer = { client, socket, identity, ip, ident: ident.slice(0, 255) }
    const connection = new SshConnection(peer, { deps, info, log, limits: this.#limits, requestLines })
    this.#connections.set(connection.record.id, connection)
    socket.once('close', () => this.#connections.delete(connection.record.id))
  }
}
