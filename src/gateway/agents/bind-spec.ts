import type { BindOptions } from '#tunnel/messages.ts'

interface About {
  readonly forwardsTo: string
  /** `http2` where the upstream speaks that; all else is HTTP/1. */
  readonly forwardsProto: string
  readonly metadata: string
  /** Connections to the tunnel wait until `release`: the agent is not ready for them before. */
  readonly waits?: boolean
}

/** A tunnel with an address of its own. */
export interface AddressSpec extends About {
  readonly kind: 'address'
  readonly proto: string
  readonly options: BindOptions
  /** The tunnel that the agent had before its connection was lost; empty for a new one. */
  readonly tunnelId: string
  /** The proof that it had it. */
  readonly token: string
  /** It shares its address with other endpoints of the same owner that say so too. */
  readonly pooling: boolean
}

/** A tunnel that is reached through tunnel-group backends. */
export interface LabelSpec extends About {
  readonly kind: 'labels'
  readonly labels: Readonly<Record<string, string>>
}

export type BindSpec = AddressSpec | LabelSpec
