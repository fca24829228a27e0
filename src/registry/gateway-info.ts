/** What a gateway process knows of itself and of the installation. */
export interface GatewayInfo {
  /** This process, among all of the installation. */
  readonly node: string
  /** How many processes share the ports. */
  readonly processes: number
  readonly version: string
  /** The shared base domain. */
  readonly domain: string
  /** Whether responses of its hosts are isolated from each other. */
  readonly isolatesHosts?: boolean
  readonly region: string
  readonly tcpPorts: { readonly first: number; readonly last: number }
  readonly randomTcpPorts: { readonly first: number; readonly last: number }
  /** Where TCP endpoints listen. */
  readonly tcpHost: string
  /** How long requests wait for an agent that lost its connection; not at all when absent. */
  readonly reconnectWaitMs?: number
  /** Ports in public URLs: those the listeners are bound to; undefined when a listener is off. */
  readonly httpPort: number | undefined
  readonly httpsPort: number | undefined
}
