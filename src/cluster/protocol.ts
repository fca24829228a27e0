import { Secret } from '#base/secrets.ts'
import type { OAuthSetup } from '#auth/providers/setup.ts'
import type { GatewayConfig } from '#cluster/gateway-config.ts'
import type { DirectoryChange } from '#cluster/shared-directory.ts'
import type { TracingSetup } from '#telemetry/tracing/tracing.ts'
import type { WantedTraffic } from '#telemetry/traffic/json-line-buffer.ts'

/** The start message of a worker. */
export interface WorkerStart {
  readonly config: PlainConfig
  readonly wantedTraffic: WantedTraffic
  /** The folder with the sockets over which workers reach each other. */
  readonly peerFolder: string
  /** The current online state. */
  readonly directory: readonly DirectoryChange[]
}

/** A configuration, serialized. Secrets are sent as text, over a private pipe. */
interface PlainConfig extends Omit<GatewayConfig, 'root' | 'keys' | 'oauth' | 'tracing'> {
  readonly root: { readonly certificatePem: string; readonly privateKeyPem: string }
  readonly keys: { readonly proofs: Uint8Array; readonly tickets: Uint8Array; readonly sshHost: string }
  readonly oauth: PlainOAuthSetup
  readonly tracing: PlainTracingSetup | undefined
}

export const plainConfig = ({ root, keys, oauth, tracing, ...plain }: GatewayConfig): PlainConfig => ({
  ...plain,
  root: { ...root, privateKeyPem: root.privateKeyPem.reveal() },
  keys: { ...keys, sshHost: keys.sshHost.reveal() },
  oauth: plainOAuth(oauth),
  tracing: plainTracing(tracing),
})

export const openedConfig = ({ root, keys, oauth, tracing, ...plain }: PlainConfig): GatewayConfig => ({
  ...plain,
  root: { ...root, privateKeyPem: new Secret(root.privateKeyPem) },
  keys: {
    proofs: Buffer.from(keys.proofs),
    tickets: Buffer.from(keys.tickets),
    sshHost: new Secret(keys.sshHost),
  },
  oauth: openedOAuth(oauth),
  tracing: openedTracing(tracing),
})

/** The operator's OAuth applications, serialized. */
interface PlainOAuthSetup extends Omit<OAuthSetup, 'applications'> {
  readonly applications: ReadonlyMap<string, { readonly id: string; readonly secret: string }>
}

const mapped = <From, To>(map: ReadonlyMap<string, From>, change: (value: From) => To): Map<string, To> =>
  new Map([...map].map(([name, value]) => [name, change(value)]))

const plainOAuth = (setup: OAuthSetup): PlainOAuthSetup => ({
  ...setup,
  applications: mapped(setup.applications, ({ id, secret }) => ({ id, secret: secret.reveal() })),
})

const openedOAuth = (setup: PlainOAuthSetup): OAuthSetup => ({
  ...setup,
  applications: mapped(setup.applications, ({ id, secret }) => ({ id, secret: new Secret(secret) })),
})

/** The trace settings, serialized. */
interface PlainTracingSetup extends Omit<TracingSetup, 'headers'> {
  readonly headers: ReadonlyMap<string, string>
}

const plainTracing = (setup: TracingSetup | undefined): PlainTracingSetup | undefined =>
  setup && { ...setup, headers: mapped(setup.headers, value => value.reveal()) }

const openedTracing = (setup: PlainTracingSetup | undefined): TracingSetup | undefined =>
  setup && { ...setup, headers: mapped(setup.headers, value => new Secret(value)) }
