import type { Duplex } from 'node:stream'
import type { Capture } from '#agent/capture/capture-tap.ts'
import type { AgentStatus, ConnectionEvent, ConnectionInfo, RequestEvent } from '#agent/events.ts'
import type { HeartbeatOptions } from '#tunnel/heartbeat.ts'
import type { OptionValues } from '#tunnel/option-values.ts'
import type { EndpointProto } from '#tunnel/tunnel-option.ts'

export type { EndpointProto } from '#tunnel/tunnel-option.ts'

export type CommandName = 'stop' | 'restart' | 'update'

export interface UpdateRequest {
  /** Empty: the latest one. */
  readonly version: string
  readonly permitMajor: boolean
}

/**
 * Commands of the API. A handler that throws rejects the command with its message. The response is sent after it
 * returns: a program that closes the agent does so after that.
 */
export interface Commands {
  readonly stop?: (() => Promise<void> | void) | undefined
  readonly restart?: (() => Promise<void> | void) | undefined
  readonly update?: ((request: UpdateRequest) => Promise<void> | void) | undefined
}

export interface RetryOptions {
  readonly baseMs: number
  readonly capMs: number
  /** A number from 0 to 1, for the jitter. */
  readonly random?: (() => number) | undefined
}

export interface AgentOptions {
  /** `host:port`, or several separated by commas; default ADIT_SERVER_ADDR or 127.0.0.1:4443. */
  readonly server?: string | undefined
  /** Default ADIT_AUTHTOKEN. */
  readonly authtoken?: string | undefined
  /** PEM text or the path of a file with it, in addition to the machine's CAs; `host` for only those. */
  readonly ca?: string | undefined
  /** Trust only `ca`. */
  readonly caOnly?: boolean | undefined
  /** `http://host:port` or `socks5://host:port`; default that of the environment (https_proxy, no_proxy). */
  readonly proxy?: string | undefined
  readonly metadata?: string | undefined
  /** Appended to `adit/<version>`. */
  readonly userAgent?: string | undefined
  readonly onStatus?: ((status: AgentStatus) => void) | undefined
  readonly onConnection?: ((event: ConnectionEvent) => void) | undefined
  readonly onRequest?: ((event: RequestEvent) => void) | undefined
  readonly commands?: Commands | undefined
  /** Why a command is not supported here. */
  readonly unsupported?: Readonly<Partial<Record<CommandName, string>>> | undefined
  readonly retry?: RetryOptions | undefined
  readonly heartbeat?: HeartbeatOptions | undefined
  /** Concurrent connections to services; more are rejected. */
  readonly maxConnections?: number | undefined
  /** Closes the agent. */
  readonly signal?: AbortSignal | undefined
}

/** TLS termination in the agent; each is PEM text or the path of a file with it. */
export interface Termination {
  readonly crt: string
  readonly key: string
  /** Require client certificates from this CA. */
  readonly clientCa?: string | undefined
}

/** The options of docs/reference/tunnel-options.md, and those that only programs have. */
export interface EndpointOptions extends Omit<OptionValues, 'schemes' | 'crt' | 'key'> {
  /** Default `https`, unless `url` has another scheme. */
  readonly proto?: EndpointProto | undefined
  /** The tunnel's name on this machine, such as in the log. */
  readonly name?: string | undefined
  /** 8080, `host:port`, `https://host:port`, `unix:/path` or `file:///folder`. */
  readonly forwardTo?: string | number | undefined
  /** Takes the connections itself, instead of `forwardTo`. */
  readonly onConnection?: ((stream: Duplex, info: ConnectionInfo) => void) | undefined
  readonly terminate?: Termination | undefined
  /** Records HTTP/1 requests and responses that are forwarded to `forwardTo`. */
  readonly capture?: Capture | undefined
}

export type HeaderChanges = NonNullable<EndpointOptions['requestHeaders']>
export type OAuthOptions = NonNullable<EndpointOptions['oauth']>
export type OidcOptions = NonNullable<EndpointOptions['oidc']>
export type SignInOptions = Omit<OAuthOptions, 'provider'>
export type WebhookOptions = NonNullable<EndpointOptions['verifyWebhook']>
export type UserAgentFilter = NonNullable<EndpointOptions['userAgentFilter']>

/** Both at once; `onConnection` is the endpoint's. */
export type ForwardOptions = Omit<AgentOptions, 'onConnection'> & EndpointOptions
