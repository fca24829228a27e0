import type { ClientConnection } from '#http/exchange.ts'
import type { UsageSeries } from '#http/request-context.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import type { BindOptions } from '#tunnel/messages.ts'

/** Where a module is used. */
export interface ModuleContext {
  /** The route, endpoint configuration or tunnel that has the module, and owns its state. */
  readonly id: string
  /** The edge, if there is one. */
  readonly edgeId?: string
  /** The route's path option, if there is one. */
  readonly match?: string
  /** The user or bot that owns the edge, domain or tunnel; absent or empty if members share it. */
  readonly ownerId?: string
  /** The record that has the module; an endpoint configuration applies to any number of tunnels. */
  readonly recordId?: string
  /** The options of the tunnel's agent, if it is one. */
  readonly agent?: BindOptions
  /** How its requests are counted. */
  readonly usage?: UsageSeries
  /** Connects to the backend without HTTP and sends `first`. Absent if the backend supports only HTTP. */
  readonly dial?: (client: ClientConnection, first: Buffer) => Promise<ByteStream>
}

/** The budget key: routes of one edge are one endpoint. */
export const endpointOf = ({ id, edgeId }: ModuleContext): string => edgeId ?? id
