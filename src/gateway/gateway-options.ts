import type { Egress } from '#base/egress.ts'
import type { SharesPorts } from '#base/listen-on.ts'
import type { Log } from '#base/log.ts'
import type { Secret } from '#base/secrets.ts'
import type { OAuthSetup } from '#auth/providers/setup.ts'
import type { UserSessionStore } from '#auth/sign-in/user-session-store.ts'
import type { AgentRegistry } from '#gateway/agents/agent-registry.ts'
import type { UsageLimits } from '#gateway/agents/usage.ts'
import type { ListenAddress } from '#gateway/listeners/acceptor.ts'
import type { LocalAuthority } from '#pki/local-authority.ts'
import type { AgentDialer } from '#registry/agent-dialer.ts'
import type { Directory } from '#registry/directory.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import type { OtherNodes } from '#registry/other-nodes.ts'
import type { Source } from '#registry/records/source.ts'
import type { WriteLine } from '#telemetry/request-log/request-log.ts'
import type { TracingOptions } from '#telemetry/tracing/tracing.ts'
import type { TrafficEvents } from '#telemetry/traffic-events.ts'
import type { UsageCounter } from '#telemetry/usage/usage-counter.ts'

export const listenerNames = ['http', 'https', 'agent', 'ssh'] as const
export type ListenerName = (typeof listenerNames)[number]

export interface GatewayOptions {
  readonly info: Omit<GatewayInfo, 'httpPort' | 'httpsPort'>
  /** The address of each listener; undefined is off. */
  readonly addresses: Readonly<Record<ListenerName, ListenAddress | undefined>>
  /** Ports in public URLs, if others than those bound are mapped to them. */
  readonly publicPorts: { readonly http: number | undefined; readonly https: number | undefined }
  /** What one credential and one owner may have online. */
  readonly limits: UsageLimits
  readonly source: Source
  readonly directory: Directory
  readonly authority: LocalAuthority
  readonly keys: GatewayKeys
  readonly log: Log
  /** The only client for outgoing connections, except to agents. */
  readonly egress: Egress
  /** The operator's OAuth applications. */
  readonly oauth: OAuthSetup
  /** Where sign-ins are recorded. */
  readonly userSessions: UserSessionStore
  /** How many requests are kept for look-up, and where the access log goes. */
  readonly requests: { readonly size: number; readonly write: WriteLine | undefined }
  /** Names that were online before the gateway started. */
  readonly recentNames?: readonly string[]
  /** Receives requests and connections; unused when absent. */
  readonly traffic?: TrafficEvents
  /** Counts requests and connections; unused when absent. */
  readonly usage?: UsageCounter
  /** Where traces are sent; none are created when absent. */
  readonly tracing?: Pick<TracingOptions, 'setup' | 'egress'> | undefined
  /** The Unix socket at which the API accepts requests of the gateway; absent: clients do not reach the API here. */
  readonly apiSocket?: string | undefined
  /** Several processes share the ports. */
  readonly sharesPorts?: SharesPorts
  /** None when absent. */
  readonly otherNodes?: OtherNodes | undefined
  /** Reaches the agents of other processes too, given those of this one. */
  readonly connectPeers?: ((local: AgentRegistry) => Promise<AgentDialer>) | undefined
}

/** Shared by all processes of an installation, so that tokens of one are valid for another. */
export interface GatewayKeys {
  /** 32 bytes: seals the reconnect tokens of agents. */
  readonly proofs: Buffer
  /** 48 bytes: TLS session ticket keys. */
  readonly tickets: Buffer
  /** Ed25519, PKCS #8. */
  readonly sshHost: Secret
}
