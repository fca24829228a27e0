import type { TunnelRecord } from '#registry/directory.ts'
import type { Exchange, HttpClientConnection } from '#http/exchange.ts'
import { forwardedLines } from '#http/forwarded.ts'
import { REQUEST_ID } from '#http/head.ts'
import { framingField } from '#http/http1-serialize.ts'
import { clientAddress } from '#base/client-network.ts'
import { encodeProxyProtocol } from '#gateway/backends/proxy-protocol.ts'
import type { ProxyHeader } from '#tunnel/messages.ts'

const HOST = /^(?:[a-z][a-z0-9+.-]*:\/\/)?((?:\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::\d{1,5})?)(?:\/.*)?$/i

/** The Host header sent instead of the client's; undefined: unchanged. */
export function rewrittenHost({ options, forwardsTo }: TunnelRecord): string | undefined {
  return options.HostHeaderRewrite ? HOST.exec(forwardsTo)?.[1] : undefined
}

/** The request head as sent to the service. Only the gateway sets who asked, and for which host. */
export function serializeRequestHead({ head, client, context }: Exchange, host: string | undefined): string {
  const { framing, upgrade, authority, upstreamHost } = head
  return (
    `${head.method} ${head.target} HTTP/1.1\r\nHost: ${host ?? upstreamHost ?? authority}\r\n${head.fields.text}` +
    (framing.kind === 'none' ? '' : framingField(framing, '1.1')) +
    (upgrade === '' ? '' : `Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n`) +
    `${forwardedLines(client, head)}${REQUEST_ID}: ${context.id}\r\n\r\n`
  )
}

/** The connection metadata for agents. */
export function proxyHeaderOf({ id, address }: TunnelRecord, client: HttpClientConnection): ProxyHeader {
  return {
    Id: id,
    ClientAddr: clientAddress(client),
    Proto: address?.scheme ?? '',
    EdgeType: address === undefined ? '3' : '0',
    PassthroughTLS: false,
  }
}

/** The PROXY protocol header of a connection, if the tunnel requested one. */
export function proxyProtocolOf({ options }: TunnelRecord, client: HttpClientConnection): Buffer | undefined {
  const version = options.ProxyProto
  if (version !== 1 && version !== 2) return undefined
  return encodeProxyProtocol(
    version,
    { ip: client.ip, port: client.port },
    { ip: client.localIp, port: client.localPort },
  )
}
