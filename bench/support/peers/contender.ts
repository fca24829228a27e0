import type { RunningProgram } from '../processes.ts'

/** The address for clients. */
export interface Address {
  readonly port: number
  /** The host name they request. */
  readonly host: string
}

/** The address for gRPC clients. */
interface GrpcAddress extends Address {
  /** The file of the CA, or of the certificate. */
  readonly ca: string
}

/** A program that forwards traffic to the upstream. An unsupported protocol has no address. */
export interface Contender extends AsyncDisposable {
  readonly name: string
  readonly http?: Address
  readonly https?: Address
  readonly http2?: Address
  readonly tcp?: Address
  readonly grpc?: GrpcAddress
  /** The processes whose CPU time is its cost: the server and the agent first, then agents of other protocols. */
  readonly pids: readonly number[]
}

/** The upstreams of all contenders. */
export interface Upstream {
  readonly http: number
  readonly tcp: number
  readonly grpc: number
}

/** The processes of a contender: first the client ends, which would otherwise reconnect. */
export const serverAndClient = (
  server: RunningProgram,
  client: RunningProgram,
): Pick<Contender, 'pids' | typeof Symbol.asyncDispose> => ({
  pids: [server.pid, client.pid],
  async [Symbol.asyncDispose]() {
    await client[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  },
})
