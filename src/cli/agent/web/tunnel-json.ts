import type { RunningTunnel } from '#cli/agent/running-tunnels.ts'

const path = (kind: string, name: string): string =>
  // Go's encoding, which programs compare, also encodes brackets.
  `/api/${kind}/${encodeURIComponent(name).replaceAll('(', '%28').replaceAll(')', '%29')}`

const metricsOf = ({ connections, requests, openConnections }: RunningTunnel): object => {
  const { count, ...rest } = connections.read()
  return { conns: { count, gauge: openConnections, ...rest }, http: requests.read() }
}

const configOf = ({ tunnel, endpoint }: RunningTunnel): object => ({
  addr: tunnel.forwardsTo,
  inspect: endpoint.capture !== undefined,
})

/** A tunnel in the form of `/api/tunnels`; scripts use grep, so the order of keys matters. */
export function tunnelJson(running: RunningTunnel): object {
  const { name, tunnel } = running
  return {
    name,
    ID: tunnel.id,
    uri: path('tunnels', name),
    public_url: tunnel.url,
    proto: tunnel.proto,
    ...(tunnel.labels !== undefined && { labels: labelList(tunnel.labels) }),
    config: configOf(running),
    metrics: metricsOf(running),
  }
}

const labelList = (labels: Readonly<Record<string, string>>): string[] =>
  Object.entries(labels).map(([name, value]) => `${name}=${value}`)

/** The same in the form of `/api/endpoints`: with the fields of both. */
export function endpointJson(running: RunningTunnel): object {
  const { name, tunnel, endpoint } = running
  return {
    name,
    uri: path('endpoints', name),
    url: tunnel.url,
    upstream: { url: tunnel.forwardsTo, protocol: endpoint.upstreamProtocol ?? 'http1' },
    inspect: endpoint.capture !== undefined,
    pooling_enabled: endpoint.poolingEnabled ?? false,
    ID: tunnel.id,
    public_url: tunnel.url,
    proto: tunnel.proto,
    config: configOf(running),
    metrics: metricsOf(running),
  }
}
