import type { GatewayOptions } from '#gateway/gateway.ts'
import type { DirectoryChange } from '#server/workers/shared-directory.ts'
import type { LogLevel } from '#base/log.ts'

/** What a worker is told when it starts. Secrets travel as text, over a pipe that only the two processes have. */
export interface WorkerStart {
  readonly node: string
  readonly options: Pick<GatewayOptions, 'facts' | 'addresses' | 'publicPorts'>
  readonly root: { readonly certificatePem: string; readonly privateKeyPem: string }
  readonly keys: { readonly proofs: Uint8Array; readonly tickets: Uint8Array; readonly sshHost: string }
  readonly logLevel: LogLevel
  /** The folder with the sockets over which workers reach each other. */
  readonly peerFolder: string
  /** All that is online already. */
  readonly directory: readonly DirectoryChange[]
}
