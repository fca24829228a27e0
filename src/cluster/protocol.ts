import type { GatewayOptions } from '#gateway/gateway.ts'
import type { DirectoryChange } from '#cluster/shared-directory.ts'
import type { Range } from '#base/addresses.ts'
import { Secret } from '#base/secrets.ts'
import type { WantedTraffic } from '#telemetry/traffic/json-line-buffer.ts'
import type { OAuthSetup } from '#auth/providers/setup.ts'
import type { TracingSetup } from '#telemetry/tracing/tracing.ts'

/** The start message of a worker. Secrets are sent as text, over a private pipe. */
export interface WorkerStart {
  readonly node: string
  readonly options: Pick<GatewayOptions, 'info' | 'addresses' | 'publicPorts' | 'limits'>
  readonly root: { readonly certificatePem: string; readonly privateKeyPem: string }
  readonly keys: { readonly proofs: Uint8Array; readonly tickets: Uint8Array; readonly sshHost: string }
  readonly fastReads: boolean
  readonly egressAllow: readonly Range[]
  readonly oauth: PlainOAuthSetup
  readonly requests: { readonly size: number; readonly accessLog: string | undefined }
  readonly wantedTraffic: WantedTraffic
  /** Names whose agents are expected back. */
  readonly recentNames: readonly string[]
  readonly tracing: PlainTracingSetup | undefined
  /** The folder with the sockets over which workers reach each other. */
  readonly peerFolder: string
  /** The current online state. */
  readonly directory: readonly DirectoryChange[]
}

/** The operator's OAuth applications, serialized. */
interface PlainOAuthSetup extends Omit<OAuthSetup, 'applications'> {
  readonly applications: ReadonlyMap<string, { readonly id: string; readonly secret: string }>
}

const mapped = <From, To>(map: ReadonlyMap<string, From>, change: (value: From) => To): Map<string, To> =>
  new Map([...map].map(([name, value]) => [name, change(value)]))

export const plainOAuth = (setup: OAuthSetup): PlainOAuthSetup => ({
  ...setup,
  applications: mapped(setup.applications, ({ id, secret }) => ({ id, secret: secret.reveal() })),
})

export const openedOAuth = (setup: PlainOAuthSetup): OAuthSetup => ({
  ...setup,
  applications: mapped(setup.applications, ({ id, secret }) => ({ id, secret: new Secret(secret) })),
})

/** The trace settings, serialized. */
interface PlainTracingSetup extends Omit<TracingSetup, 'headers'> {
  readonly headers: ReadonlyMap<string, string>
}

export const plainTracing = (setup: TracingSetup | undefined): PlainTracingSetup | undefined =>
  setup && { ...setup, headers: mapped(setup.headers, value => value.reveal()) }

export const openedTracing = (setup: PlainTracingSetup | undefined): TracingSetup | undefined =>
  setup && { ...setup, headers: mapped(setup.headers, value => new Secret(value)) }
