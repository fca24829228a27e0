import { readSettings } from '#base/read-settings.ts'
import { gatewaySettings } from '#base/settings.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'

/** A gateway with the default settings, except for these and those that change or delay responses. */
export const gatewayInfo = (given: Partial<GatewayInfo>): GatewayInfo => ({
  ...gatewaySettings(readSettings(new Map(), {})),
  isolate_hosts: false,
  reconnect_wait: 0,
  node: 'node-1',
  version: '0.0.0',
  randomTcpPorts: { first: 20_000, last: 29_999 },
  httpPort: 80,
  httpsPort: 443,
  ...given,
})
