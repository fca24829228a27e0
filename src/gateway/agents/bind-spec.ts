import type { BindOptions } from '#tunnel/messages.ts'

interface BindDetails {
  readonly forwardsTo: string
  /** `http2` for an HTTP/2 upstream; anything else is HTTP/1. */
  readonly forwardsProto: string
  readonly metadata: string
  /** Connections to the tunnel wait until `markReady`: the agent is not ready before. */
  readonly notReady?: boolean
}

/** A tunnel with its own address. */
export interface AddressSpec extends BindDetails {
  readonly kind: 'address'
  readonly proto: string
  readonly options: BindOptions
  /** The tunnel that the agent had before its connection was lost; empty for a new one. */
  readonly tunnelId: string
  /** The token that proves it. */
  readonly token: string
  /** It shares its address with other endpoints of the same owner that request the same. */
  readonly pooling: boolean
}

/** A tunnel that is reached through tunnel-group backends. */
export interface LabelSpec extends BindDetails {
  readonly kind: 'labels'
  readonly labels: Readonly<Record<string, string>>
}

export type BindSpec = AddressSpec | LabelSpec
