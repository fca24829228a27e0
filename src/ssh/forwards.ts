import { fail } from '#base/errors.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import type { TunnelScheme, SshCommand } from '#ssh/command.ts'
import type { TunnelRequest } from '#ssh/deps.ts'

/** One -R: the bind address and port as the client sent them, since it identifies the forward by them. */
interface Forward {
  readonly bindAddr: string
  readonly requestedPort: number
  /** The port the client knows it by: the requested one, or the one chosen for 0. */
  readonly port: number
  readonly tunnel: TunnelRecord
}

interface BindAddress {
  readonly bindAddr: string
  readonly bindPort: number
}

const MAX_FORWARDS = 32
const MAX_NAME = 253
/** Bind addresses that ssh sends without a name. */
const ANYWHERE = new Set(['', '*', 'localhost', '0.0.0.0', '::', '127.0.0.1', '::1'])
const NAME = /^[A-Za-z0-9.-]+$/

/** Rejects a request that can never become a tunnel. */
export function checkBind({ bindAddr, bindPort }: BindAddress, forwards: Forwards): void {
  if (bindAddr.length > MAX_NAME || (!ANYWHERE.has(bindAddr) && !NAME.test(bindAddr)))
    fail('ssh_bind_address')
  if (bindPort > 65_535) fail('bind_port', { port: bindPort, reason: 'ports go from 1 to 65535' })
  if (forwards.has(bindAddr, bindPort)) fail('ssh_forward_taken', { bind: bindText(bindAddr, bindPort) })
  if (forwards.size >= MAX_FORWARDS) fail('ssh_forward_limit', { limit: MAX_FORWARDS })
}

/** The tunnel of a -R, given the command: `-R [name:]port:host:hostport gateway [http|https|tcp|tls] [options]`. */
export function tunnelRequestOf({ bindAddr, bindPort }: BindAddress, command: SshCommand): TunnelRequest {
  const requestedName = ANYWHERE.has(bindAddr) ? '' : bindAddr.toLowerCase()
  return {
    scheme: schemeOf(bindPort, command.scheme),
    host: command.domain ?? command.name ?? requestedName,
    port: bindPort,
    labels: command.labels,
    metadata: command.metadata,
    forwardsTo: `ssh -R ${bindText(bindAddr, bindPort)}`,
    basicAuth: command.basicAuth,
  }
}

function schemeOf(port: number, scheme: TunnelScheme | undefined): TunnelScheme {
  // `-R 80:... -R 443:... gateway http` requests a site with and without TLS.
  if (scheme === 'http' && port === 443) return 'https'
  if (scheme !== undefined) return scheme
  if (port === 80) return 'http'
  return port === 443 ? 'https' : 'tcp'
}

/** As written after -R. */
const bindText = (bindAddr: string, port: number): string =>
  ANYWHERE.has(bindAddr) ? String(port) : `${bindAddr}:${port}`

/** The tunnels of one ssh connection. */
export class Forwards {
  readonly #byTunnel = new Map<string, Forward>()

  get size(): number {
    return this.#byTunnel.size
  }

  /** Several random ports may be requested; each other address once. */
  has(bindAddr: string, port: number): boolean {
    return port !== 0 && this.list().some(each => each.bindAddr === bindAddr && each.port === port)
  }

  list(): Forward[] {
    return [...this.#byTunnel.values()]
  }

  of(tunnelId: string): Forward | undefined {
    return this.#byTunnel.get(tunnelId)
  }

  find({ bindAddr, bindPort }: BindAddress): Forward | undefined {
    return this.list().find(each => each.bindAddr === bindAddr && each.port === bindPort)
  }

  add({ bindAddr, bindPort }: BindAddress, tunnel: TunnelRecord): Forward {
    const port = bindPort === 0 ? this.#choosePort(bindAddr, tunnel) : bindPort
    const forward = { bindAddr, requestedPort: bindPort, port, tunnel }
    this.#byTunnel.set(tunnel.id, forward)
    return forward
  }

  remove(tunnelId: string): void {
    this.#byTunnel.delete(tunnelId)
  }

  /** The port of the endpoint; if it has none, any number that distinguishes this -R. */
  #choosePort(bindAddr: string, { address }: TunnelRecord): number {
    let port = address?.scheme === 'tcp' ? address.port : 1
    while (this.has(bindAddr, port)) port++
    return port
  }
}

/** The URL, or the labels of a tunnel without one. */
export const nameOf = ({ url, labels }: TunnelRecord): string =>
  url === ''
    ? Object.entries(labels)
        .map(([name, value]) => `${name}=${value}`)
        .join(',')
    : url

export const forwardText = ({ tunnel, bindAddr, requestedPort }: Forward): string =>
  `${nameOf(tunnel)} -> -R ${bindText(bindAddr, requestedPort)}`
