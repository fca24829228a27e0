import type { GatewaySettings } from '#base/settings.ts'

/** Facts of a gateway process and of the installation. */
export interface GatewayInfo extends GatewaySettings {
  /** This process, among all of the installation. */
  readonly node: string
  readonly version: string
  /** Ports for requests without a particular one. */
  readonly randomTcpPorts: { readonly first: number; readonly last: number }
  /** Ports in public URLs: those the listeners are bound to; undefined when a listener is off. */
  readonly httpPort: number | undefined
  readonly httpsPort: number | undefined
}
