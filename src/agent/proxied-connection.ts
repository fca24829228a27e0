import type { Binding } from '#agent/binding.ts'
import type { ProxyHeader } from '#tunnel/messages.ts'
import type { TunnelStream } from '#tunnel/stream.ts'

/** A client connection, and its tunnel. */
export interface ProxiedConnection {
  readonly binding: Binding
  readonly header: ProxyHeader
  readonly stream: TunnelStream
  /** The connection is over; called once. */
  readonly done: (bytesIn: number, bytesOut: number, failure?: string) => void
}

const HTTPS_EDGE = '3'

/** Whether it carries HTTP. */
export const isWeb = ({ header: { Proto, EdgeType }, binding }: ProxiedConnection): boolean =>
  Proto === 'http' || Proto === 'https' || (binding.endpoint.labels !== undefined && EdgeType === HTTPS_EDGE)
