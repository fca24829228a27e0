import { gatewaySettings, type Settings } from '#base/settings.ts'
import type { GatewayParts } from '#cluster/gateway-handle.ts'
import { randomPorts } from '#cluster/ports.ts'
import type { Gateway } from '#gateway/gateway.ts'
import type { GatewayOptions } from '#gateway/gateway-options.ts'
import type { TlsIdentity } from '#pki/local-authority.ts'

/** What a gateway process starts from: data only, so that it can be sent to a worker. */
export interface GatewayConfig extends Pick<GatewayOptions, 'info' | 'keys' | 'apiSocket'> {
  /** Of the local authority. */
  readonly root: TlsIdentity
  /** Names whose agents are expected back. */
  readonly recentNames: readonly string[]
}

/** How the processes of an installation differ. */
interface GatewayProcess {
  readonly node: string
  readonly recentNames: readonly string[]
  /** What the first one has opened, such as ports that the system assigned: the others join it there. */
  readonly bound?: Gateway['bound']
}

export function gatewayConfig(
  {
    settings,
    version,
    root,
    keys,
    apiSocket,
  }: Pick<GatewayParts, 'settings' | 'version' | 'root' | 'keys' | 'apiSocket'>,
  { node, recentNames, bound = {} }: GatewayProcess,
): GatewayConfig {
  return {
    info: boundInfo(infoOf(settings, node, version), bound),
    keys,
    apiSocket,
    root,
    recentNames,
  }
}

/** With the addresses at which a gateway listens. */
export const boundInfo = (info: GatewayConfig['info'], bound: Gateway['bound']): GatewayConfig['info'] => ({
  ...info,
  http_addr: bound.http ?? info.http_addr,
  https_addr: bound.https ?? info.https_addr,
  agent_addr: bound.agent ?? info.agent_addr,
  ssh_addr: bound.ssh ?? info.ssh_addr,
})

export const infoOf = (settings: Settings, node: string, version: string): GatewayConfig['info'] => ({
  ...gatewaySettings(settings),
  node,
  version,
  randomTcpPorts: randomPorts(settings),
})
