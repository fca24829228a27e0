import type { Guest } from '#http/exchange.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import type { BindOptions } from '#tunnel/messages.ts'

/** Where a module stands. */
export interface Place {
  /** Of the route, endpoint configuration or tunnel that has the module; what a module remembers belongs to it. */
  readonly id: string
  /** Of the edge, where it is one. */
  readonly edgeId?: string
  /** What the route asks of paths, where it is one. */
  readonly match?: string
  /** Of the record that has the module; an endpoint configuration stands before any number of tunnels. */
  readonly recordId?: string
  /** What the agent of the tunnel asked for, where the place is a tunnel. */
  readonly agent?: BindOptions
  /** Connects to the backend without HTTP; `first` leaves with it. Absent where the backend knows only HTTP. */
  readonly dial?: (visitor: Guest, first: Buffer) => Promise<ByteStream>
}

/** What budgets are divided by: routes of one edge are one endpoint. */
export const endpointOf = ({ id, edgeId }: Place): string => edgeId ?? id
