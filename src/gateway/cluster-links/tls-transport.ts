import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect, createServer, type Server, type TLSSocket } from 'node:tls'
import { inBackground } from '#base/background.ts'
import type { HostPort } from '#base/hosts.ts'
import { listenOn, type SharesPorts } from '#base/listen-on.ts'
import type { Log } from '#base/log.ts'
import type { PeerTransport } from '#gateway/cluster-links/peer-transport.ts'
import { isDue, type Leaf, type LocalAuthority } from '#pki/local-authority.ts'

const CONNECT_MS = 3000
const RENEW_CHECK_MS = 3_600_000
/** Certificates of nodes are valid for so long. */
const CERTIFICATE_DAYS = 7
/** Several processes of a machine may share a port: which one accepts a connection is random. */
const TRIES = 256
/**
 * The version of everything that nodes send to each other over a link. Unknown members of messages are ignored; what an
 * earlier version would misunderstand needs another name here, in addition to this one while both are accepted.
 */
const PROTOCOL = 'adit-peer/1'
/** AES-128 first, as with clients: node's first, AES-256, needs a fourth more time for each byte. */
const CIPHERS = 'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256'
const REJECTED = 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL'
/** The names of nodes in certificates; no client or tenant has names there. */
const SUFFIX = '.node.adit.internal'

const nameOf = (node: string): string => `${node.toLowerCase()}${SUFFIX}`

interface TlsTransportOptions {
  /** This process. */
  readonly node: string
  readonly authority: LocalAuthority
  readonly address: HostPort
  /** Where a process can be reached; undefined: it is not in the cluster. */
  readonly addressOf: (node: string) => HostPort | undefined
  readonly sharesPorts?: SharesPorts | undefined
  readonly log: Log
}

/** Another process of the same machine has accepted the connection. */
class OtherProcessError extends Error {}

/** Between machines: TLS 1.3, on which both ends prove their identity with certificates of the installation's CA. */
export class TlsTransport implements PeerTransport {
  readonly #options: TlsTransportOptions
  #identity: Leaf
  #server: Server | undefined
  #timer: NodeJS.Timeout | undefined
  /** Nodes of another version that were logged. */
  readonly #otherVersions = new Set<string>()

  private constructor(options: TlsTransportOptions, identity: Leaf) {
    this.#options = options
    this.#identity = identity
  }

  static async create(options: TlsTransportOptions): Promise<TlsTransport> {
    return new TlsTransport(options, await issue(options))
  }

  async listen(accept: (socket: Socket) => void): Promise<void> {
    const { address, sharesPorts, log } = this.#options
    const server = createServer({ ...this.#secrets, requestCert: true, rejectUnauthorized: true }, socket => {
      // Server certificates of the same CA are no proof.
      const isNode = namesIn(socket).some(name => name.endsWith(SUFFIX))
      if (isNode && socket.alpnProtocol === PROTOCOL) accept(socket)
      else socket.destroy()
    })
    server.on('tlsClientError', error => log.debug({ error }, 'a peer connection was rejected'))
    await listenOn(server, address, sharesPorts)
    this.#server = server
    this.#timer = setInterval(() => {
      void inBackground({ task: 'peers', log }, () => this.#renew())
    }, RENEW_CHECK_MS).unref()
  }

  async connect(node: string): Promise<Socket> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#connectOnce(node, AbortSignal.timeout(CONNECT_MS))
      } catch (error) {
        if (!(error instanceof OtherProcessError) || tries === TRIES) throw error
      }
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    if (this.#server === undefined) return
    const closed = once(this.#server, 'close')
    this.#server.close()
    await closed
  }

  get #secrets() {
    return {
      cert: this.#identity.certificatePem,
      key: this.#identity.privateKeyPem.reveal(),
      ca: this.#options.authority.rootPem,
      minVersion: 'TLSv1.3' as const,
      ciphers: CIPHERS,
      ALPNProtocols: [PROTOCOL],
    }
  }

  async #connectOnce(node: string, signal: AbortSignal): Promise<TLSSocket> {
    const address = this.#options.addressOf(node)
    if (address === undefined) throw new Error(`The node ${node} is not in the cluster.`)
    const socket = connect({
      ...this.#secrets,
      host: address.host.replace(/^\[(.*)\]$/, '$1'),
      port: address.port,
      servername: nameOf(node),
      // The name is checked below: a wrong one may be another process behind the same port.
      checkServerIdentity: () => undefined,
    })
    try {
      await once(socket, 'secureConnect', { signal }).catch((error: unknown) => {
        throw (error as NodeJS.ErrnoException).code === REJECTED ? this.#otherVersion(node) : error
      })
      if (socket.alpnProtocol !== PROTOCOL) throw this.#otherVersion(node)
      const names = namesIn(socket)
      if (names.includes(nameOf(node))) return socket
      throw names.some(name => name.endsWith(SUFFIX)) ? new OtherProcessError() : new Error(NO_NODE)
    } catch (error) {
      socket.on('error', () => undefined).destroy()
      throw error
    }
  }

  #otherVersion(node: string): Error {
    const { log } = this.#options
    if (!this.#otherVersions.has(node))
      log.warn({ node, protocol: PROTOCOL }, 'the node uses another version of the peer protocol')
    this.#otherVersions.add(node)
    return new Error(`The node ${node} uses another version of the peer protocol.`)
  }

  async #renew(): Promise<void> {
    if (!isDue(this.#identity, Date.now())) return
    this.#identity = await issue(this.#options)
    this.#server?.setSecureContext(this.#secrets)
  }
}

const NO_NODE = 'The certificate is not that of a node.'

const issue = ({ authority, node }: TlsTransportOptions): Promise<Leaf> =>
  authority.issue([nameOf(node)], { days: CERTIFICATE_DAYS, isClient: true })

function namesIn(socket: TLSSocket): string[] {
  const { subjectaltname = '' } = socket.getPeerCertificate()
  return subjectaltname.split(', ').map(name => name.replace(/^DNS:/, '').toLowerCase())
}
