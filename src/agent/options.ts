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
 * What the API may ask an agent to do. One that throws refuses, and its message is the reason. The answer leaves when it
 * has returned: a program that closes the agent does so after that.
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
  /** `host:port`; ADIT_SERVER_ADDR or 127.0.0.1:4443 when absent. */
  readonly server?: string | undefined
  /** ADIT_AUTHTOKEN when absent. */
  readonly authtoken?: string | undefined
  /** PEM text or the path of a file with it, beside the CAs that the machine trusts; `host` for those alone. */
  readonly ca?: string | undefined
  /** `ca` counts alone. */
  readonly caOnly?: boolean | undefined
  /** `http://host:port` or `socks5://host:port`; that of the environment (https_proxy, no_proxy) when absent. */
  readonly proxy?: string | undefined
  readonly metadata?: string | undefined
  /** Stands behind `adit/<version>`. */
  readonly userAgent?: string | undefined
  readonly onStatus?: ((status: AgentStatus) => void) | undefined
  readonly onConnection?: ((event: ConnectionEvent) => void) | undefined
  readonly onRequest?: ((event: RequestEvent) => void) | undefined
  readonly commands?: Commands | undefined
  /** Why a command cannot be carried out here. */
  readonly unsupported?: Readonly<Partial<Record<CommandName, string>>> | undefined
  readonly retry?: RetryOptions | undefined
  readonly heartbeat?: HeartbeatOptions | undefined
  /** Connections to services at once; more are refused. */
  readonly maxConnections?: number | undefined
  /** Closes the agent. */
  readonly signal?: AbortSignal | undefined
}

export interface HeaderChanges {
  /** Each `name: value`. */
  readonly add?: readonly string[] | undefined
  readonly remove?: readonly string[] | undefined
}

/** How visitors sign in, and who of them may come in: everybody when nobody is named. */
export interface SignInOptions {
  /** The application that is registered at the provider. */
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
  readonly scopes?: readonly string[] | undefined
  readonly allowEmails?: readonly string[] | undefined
  readonly allowDomains?: readonly string[] | undefined
}

export interface OAuthOptions extends SignInOptions {
  /** Such as `google` or `github`; without `clientId` the gateway must have an application of its own there. */
  readonly provider: string
}

export interface OidcOptions extends SignInOptions {
  /** Where discovery starts. */
  readonly issuerUrl: string
}

export interface WebhookOptions {
  /** The sender, such as `github` or `stripe`. */
  readonly provider: string
  /** What it signs with; senders with a public key of their own have none. */
  readonly secret?: string | undefined
}

/** Regular expressions in the syntax of RE2. */
export interface UserAgentFilter {
  /** A match is let in, whatever `deny` says. */
  readonly allow?: readonly string[] | undefined
  readonly deny?: readonly string[] | undefined
}

/** TLS that ends in the agent; each is PEM text or the path of a file with it. */
export interface Termination {
  readonly crt: string
  readonly key: string
  /** Visitors must have a certificate of this authority. */
  readonly clientCa?: string | undefined
}

export interface EndpointOptions {
  /** `https` when absent and `url` says nothing else. */
  readonly proto?: EndpointProto | undefined
  /** How the tunnel is called on this machine, such as in the log. */
  readonly name?: string | undefined
  /** A name under the shared domain, or a whole domain. */
  readonly domain?: string | undefined
  readonly url?: string | undefined
  /** Of a TCP endpoint, `host:port`. */
  readonly remoteAddr?: string | undefined
  /** A labelled tunnel, which backends find, instead of an address. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly metadata?: string | undefined
  /** Sent to the gateway, and shown as metadata when there is none. */
  readonly description?: string | undefined
  /** Shares the address with other endpoints of the same owner that are opened with it too. */
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
  /** Answers are compressed for visitors that accept it. */
  readonly compression?: boolean | undefined
  /** From 0 to 1: the share of failed requests at which the service is left alone for a while. */
  readonly circuitBreaker?: number | undefined
  readonly oauth?: OAuthOptions | undefined
  readonly oidc?: OidcOptions | undefined
  readonly verifyWebhook?: WebhookOptions | undefined
  readonly userAgentFilter?: UserAgentFilter | undefined
  /** Of https endpoints; PEM text or the path of a file with it: visitors must have a certificate of one of these. */
  readonly mutualTlsCas?: string | undefined
  /** Visitors come by WebSocket, and the service gets what is in their messages. */
  readonly websocketTcpConverter?: boolean | undefined
  readonly terminate?: Termination | undefined
  /** False: the certificate of an https service is not looked at. */
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
