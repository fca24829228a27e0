import { Secret } from '#base/secrets.ts'
import type { GatewaySettings } from '#base/settings.ts'
import type { GatewayConfig } from '#cluster/gateway-config.ts'
import type { ClusterView } from '#cluster/nodes/followed-cluster.ts'
import type { DirectoryRecords } from '#cluster/shared-directory.ts'
import type { Gateway } from '#gateway/gateway.ts'
import type { WantedTraffic } from '#telemetry/traffic/json-line-buffer.ts'

/** Sent to a worker when it starts, and when another first process takes it over. */
export interface WorkerStart {
  readonly config: PlainConfig
  readonly wantedTraffic: WantedTraffic
  /** The folder with the sockets over which workers reach each other. */
  readonly peerFolder: string
  /** Set if the server is a node of a cluster. */
  readonly cluster: ClusterView | undefined
  /** The current online state. */
  readonly directory: DirectoryRecords
}

/** What a worker has when another first process takes it over. */
export interface WorkerState {
  readonly bound: Gateway['bound']
  /** The kinds of records that it follows. */
  readonly kinds: readonly string[]
  /** Its own agents. */
  readonly directory: DirectoryRecords
}

/** A configuration without `Secret`s, which a message would lose. */
interface PlainConfig {
  readonly info: { readonly node: string }
}

/** Secrets are sent as text, over a private pipe. */
export const plainConfig = (config: GatewayConfig): PlainConfig => mapped(config, revealed) as PlainConfig

export function openedConfig(plain: PlainConfig): GatewayConfig {
  const config = mapped(plain, concealed) as GatewayConfig
  const { proofs, tickets, sshHost } = config.keys
  return { ...config, keys: { proofs: Buffer.from(proofs), tickets: Buffer.from(tickets), sshHost } }
}

/** The same for settings that a reload has changed. */
export const plainSettings = (changes: Partial<GatewaySettings>): object =>
  mapped(changes, revealed) as object

export const openedSettings = (plain: object): Partial<GatewaySettings> =>
  mapped(plain, concealed) as Partial<GatewaySettings>

const SECRET = '$secret'
const revealed = (value: object): object | undefined =>
  value instanceof Secret ? { [SECRET]: value.reveal() } : undefined
const concealed = (value: object): object | undefined =>
  SECRET in value ? new Secret(String(value[SECRET])) : undefined

/** Replaces objects at any depth. */
function mapped(value: unknown, change: (value: object) => object | undefined): unknown {
  if (typeof value !== 'object' || value === null) return value
  const changed = change(value)
  if (changed !== undefined) return changed
  if (Array.isArray(value)) return value.map(each => mapped(each, change))
  if (value instanceof Map) return new Map([...value].map(([name, each]) => [name, mapped(each, change)]))
  if (ArrayBuffer.isView(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, mapped(each, change)]))
}
