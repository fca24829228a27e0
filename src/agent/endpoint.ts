import { basename } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { Capture } from '#agent/capture/capture-tap.ts'
import type { FileServer } from '#agent/files/file-server.ts'
import { folderOf } from '#agent/files/folder.ts'
import type { EndpointOptions, EndpointProto, Termination } from '#agent/options.ts'
import { authorities } from '#agent/authorities.ts'
import { pemInput } from '#agent/pem-input.ts'
import { refuseEndpoint as refuse } from '#agent/refuse-endpoint.ts'
import { readTarget, type UpstreamTarget } from '#agent/target.ts'
import type { Terminator } from '#agent/terminate.ts'
import { wireModules } from '#agent/wire-modules.ts'
import type { JsonObject } from '#base/json-fields.ts'

/** Parsed endpoint options. */
export interface EndpointSpec {
  /** Empty for a labelled tunnel. */
  readonly proto: EndpointProto | ''
  readonly name: string
  readonly labels: Readonly<Record<string, string>> | undefined
  readonly metadata: string
  readonly description: string | undefined
  readonly pooling: boolean
  readonly forwardsTo: string
  readonly forwardsProto: '' | 'http1' | 'http2'
  readonly proxyProto: 0 | 1 | 2
  readonly verify: boolean
  /** Undefined: those that Node trusts. */
  readonly upstreamCas: readonly string[] | undefined
  readonly inspect: boolean
  /** Undefined: the program takes the connections itself, or they are for files. */
  readonly target: UpstreamTarget | undefined
  readonly files: FileServer | undefined
  readonly onConnection: EndpointOptions['onConnection']
  readonly terminator: Terminator | undefined
  readonly capture: Capture | undefined
  /** The bind request. */
  readonly wire: JsonObject
}

const protos: readonly string[] = ['http', 'https', 'tcp', 'tls'] satisfies EndpointProto[]

export function readEndpoint(options: EndpointOptions): EndpointSpec {
  const { labels, forwardTo, onConnection, terminate, proxyProto = 0 } = options
  const proto = labels === undefined ? protoOf(options) : ''
  const wire = wireOptions(proto, options)
  if (labels !== undefined) checkLabelled(options, wire)
  const folder = folderOf(forwardTo, proto)
  checkCombination(options, proto, folder !== undefined)
  const target = forwardTo === undefined || folder ? undefined : readTarget(forwardTo, proto)
  return {
    proto,
    name: options.name ?? '',
    labels,
    metadata: options.metadata ?? options.description ?? '',
    description: options.description,
    pooling: options.poolingEnabled ?? false,
    forwardsTo: folder?.text ?? target?.text ?? ownName(),
    forwardsProto: options.upstreamProtocol ?? '',
    proxyProto,
    verify: options.verifyUpstream ?? true,
    upstreamCas: options.upstreamCas === undefined ? undefined : authorities(options.upstreamCas),
    inspect: options.inspect ?? true,
    target,
    files: folder?.server,
    onConnection,
    terminator: terminate && terminatorOf(terminate),
    capture: options.capture,
    wire,
  }
}

/** Rejects options that exclude each other. */
function checkCombination(options: EndpointOptions, proto: EndpointProto | '', servesFiles: boolean): void {
  const { forwardTo, onConnection, terminate, proxyProto = 0 } = options
  if ((forwardTo === undefined) === (onConnection === undefined))
    refuse('set either an address to forward to or a function that takes the connections')
  if (terminate !== undefined && proto !== 'tls')
    refuse('the agent terminates TLS only for endpoints of type tls')
  if (servesFiles && (proxyProto > 0 || options.upstreamProtocol === 'http2'))
    refuse('files are served by this agent itself, which supports neither a PROXY header nor HTTP/2')
}

function protoOf({ proto, url }: EndpointOptions): EndpointProto {
  const given = proto ?? /^([a-z]+):\/\//i.exec(url ?? '')?.[1]?.toLowerCase() ?? 'https'
  return protos.includes(given)
    ? (given as EndpointProto)
    : refuse(`"${given}" is not http, https, tcp or tls`)
}

/** Bind options in wire format. Options that do not fit a protocol are sent too: the gateway rejects them. */
function wireOptions(proto: EndpointProto | '', options: EndpointOptions): JsonObject {
  const { url, domain, remoteAddr, hostHeader, proxyProto = 0, gatewayCapture = false } = options
  return {
    URL: url ?? '',
    Domain: domain ?? '',
    Hostname: '',
    Subdomain: '',
    Addr: proto === 'tcp' ? (remoteAddr ?? '') : '',
    Auth: '',
    HostHeaderRewrite: hostHeader === 'rewrite',
    ProxyProto: proxyProto,
    ...(gatewayCapture && { Capture: true }),
    MutualTLSAtAgent: false,
    TLSTermination: null,
    ...wireModules(options),
  }
}

/** A labelled tunnel has no options: they are configured at its backend's edge. */
function checkLabelled(options: EndpointOptions, wire: JsonObject): void {
  const { url, domain, remoteAddr, proto, poolingEnabled } = options
  if (poolingEnabled) refuse('tunnels with the same labels share traffic anyway, without pooling')
  const given = Object.entries(wire).find(
    ([, value]) => value !== null && value !== '' && value !== false && value !== 0,
  )
  const name = given?.[0] ?? [url, domain, remoteAddr, proto].find(value => value !== undefined)
  if (name !== undefined) refuse(`a labelled tunnel has no address and no options, but "${name}" is given`)
}

function terminatorOf({ crt, key, clientCa }: Termination): Terminator {
  const asks = clientCa !== undefined
  const pems = { cert: pemInput(crt), key: pemInput(key), ...(asks && { ca: pemInput(clientCa) }) }
  try {
    createSecureContext(pems)
  } catch {
    return refuse('certificate and key are not PEM or do not belong together')
  }
  return { ...pems, minVersion: 'TLSv1.2', requestCert: asks, rejectUnauthorized: asks }
}

const ownName = (): string => `app://${basename(process.argv[1] ?? 'node')}?pid=${process.pid}`
