import type { Duplex } from 'node:stream'
import type { Capture } from '#agent/capture/capture-tap.ts'
import type { AgentStatus, ConnectionEvent, ConnectionInfo, RequestEvent } from '#agent/events.ts'
import type { HeartbeatOptions } from '#tunnel/heartbeat.ts'

export type CommandName = 'stop' | 'restart' | 'update'
export type EndpointProto = 'http' | 'https' | 'tcp' | 'tls'

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
  /** `host:port`; default ADIT_SERVER_ADDR or 127.0.0.1:4443. */
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

export interface HeaderChanges {
  /** Each `name: value`. */
  readonly add?: readonly string[] | undefined
  readonly remove?: readonly string[] | undefined
}

/** Sign-in options, and the allowed users: everyone when none is named. */
export interface SignInOptions {
  /** The application registered at the provider. */
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
  readonly scopes?: readonly string[] | undefined
  readonly allowEmails?: readonly string[] | undefined
  readonly allowDomains?: readonly string[] | undefined
}

export interface OAuthOptions extends SignInOptions {
  /** Such as `google` or `github`; without `clientId` the gateway must have its own application there. */
  readonly provider: string
}

export interface OidcOptions extends SignInOptions {
  /** Where discovery starts. */
  readonly issuerUrl: string
}

export interface WebhookOptions {
  /** The sender, such as `github` or `stripe`. */
  readonly provider: string
  /** The signing secret; senders with a public key have none. */
  readonly secret?: string | undefined
}

/** Regular expressions in the syntax of RE2. */
export interface UserAgentFilter {
  /** A match is allowed, even if `deny` matches. */
  readonly allow?: readonly string[] | undefined
  readonly deny?: readonly string[] | undefined
}

/** TLS termination in the agent; each is PEM text or the path of a file with it. */
export interface Termination {
  readonly crt: string
  readonly key: string
  /** Require client certificates from this CA. */
  readonly clientCa?: string | undefined
}

export interface EndpointOptions {
  /** Default `https`, unless `url` says otherwise. */
  readonly proto?: EndpointProto | undefined
  /** The tunnel's name on this machine, such as in the log. */
  readonly name?: string | undefined
  /** A name under the shared domain, or a full domain. */
  readonly domain?: string | undefined
  readonly url?: string | undefined
  /** Of a TCP endpoint, `host:port`. */
  readonly remoteAddr?: string | undefined
  /** A labelled tunnel for tunnel-group backends, instead of an address. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly metadata?: string | undefined
  /** Sent to the gateway, and shown if there is no metadata. */
  readonly description?: string | undefined
  /** Shares the address with other endpoints of the same owner that set it too. */
  readonly poolingEnabled?: boolean | undefined
  /** 8080, `host:port`, `https://host:port`, `unix:/path` or `file:///folder`. */
  readonly forwardTo?: string | number | undefined
  /** Takes the connections itself, instead of `forwardTo`. */
  readonly onConnection?: ((stream: Duplex, info: ConnectionInfo) => void) | undefined
  /** Each `user:password`. */
  readonly basicAuth?: readonly string[] | undefined
  /** `rewrite`: the Host of the service; any other text: that Host. */
  readonly hostHeader?: string | undefined
  readonly proxyProto?: 0 | 1 | 2 | undefined
  readonly upstreamProtocol?: 'http1' | 'http2' | undefined
  readonly requestHeaders?: HeaderChanges | undefined
  readonly responseHeaders?: HeaderChanges | undefined
  readonly allowCidrs?: readonly string[] | undefined
  readonly denyCidrs?: readonly string[] | undefined
  /** Compress responses for clients that accept it. */
  readonly compression?: boolean | undefined
  /** From 0 to 1: the error rate at which requests to the service are stopped for a while. */
  readonly circuitBreaker?: number | undefined
  readonly oauth?: OAuthOptions | undefined
  readonly oidc?: OidcOptions | undefined
  readonly verifyWebhook?: WebhookOptions | undefined
  readonly userAgentFilter?: UserAgentFilter | undefined
  /** For https endpoints; PEM text or the path of a file with it: require client certificates from one of these CAs. */
  readonly mutualTlsCas?: string | undefined
  /** Accept WebSocket connections and forward the content of their messages over TCP. */
  readonly websocketTcpConverter?: boolean | undefined
  readonly terminate?: Termination | undefined
  /** False: the certificate of an https service is not verified. */
  readonly verifyUpstream?: boolean | undefined
  /** Records HTTP/1 requests and responses that are forwarded to `forwardTo`. */
  readonly capture?: Capture | undefined
  /** CAs of an https service: PEM text, the path of a file with it, or `host` for the store of the system. */
  readonly upstreamCas?: string | undefined
  /** False: `onRequest` is not called for this endpoint. */
  readonly inspect?: boolean | undefined
}

/** Both at once; `onConnection` is the endpoint's. */
export type ForwardOptions = Omit<AgentOptions, 'onConnection'> & EndpointOptions
