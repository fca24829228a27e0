import type { TunnelRecord } from '#gateway/directory.ts'
import type { Endpoint } from '#gateway/exchange.ts'
import type { Fleet } from '#gateway/fleet.ts'

/** An endpoint that keeps connections; closed when what it serves is gone. */
export type ClosableEndpoint = Endpoint & { close(): void }

/** Makes the end of a chain: it passes requests on to what a tunnel forwards to. */
export type MakeBackend = (tunnel: TunnelRecord, fleet: Fleet) => ClosableEndpoint
