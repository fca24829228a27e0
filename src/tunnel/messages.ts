import {
  anyObject,
  type FieldReader,
  type JsonObject,
  flag,
  integer,
  list,
  nullable,
  object,
  optional,
  text,
  texts,
} from '#base/json-fields.ts'
import { type AgentModule, agentModules } from '#tunnel/agent-modules.ts'

/**
 * The messages of the agent protocol. Names are those of the wire: a value of one of these types, as JSON, is what
 * peers expect, and the parser of that name reads what they send.
 */
type MessageOf<Reader> = Reader extends FieldReader<infer T> ? T : never

const name = text(256)
const line = text(1024)
const metadata = text(4096)
const token = text(4096)
const errorText = text(16_384)
// A policy document may be large; the message limit applies in the end.
const document = text(1_048_576)

export const authRequest = object({
  Version: list(text(16), 16),
  ClientId: name,
  Extra: object({
    OS: name,
    Arch: name,
    AuthToken: token,
    Version: name,
    Hostname: name,
    UserAgent: line,
    Metadata: metadata,
    Cookie: token,
    HeartbeatInterval: integer,
    HeartbeatTolerance: integer,
    UpdateUnsupportedError: nullable(line),
    StopUnsupportedError: nullable(line),
    RestartUnsupportedError: nullable(line),
    ProxyType: name,
    MutualTLS: flag,
    ServiceRun: flag,
    ConfigVersion: name,
    CustomInterface: flag,
    CustomCAs: flag,
    ClientType: name,
    LegNumber: integer,
  }),
})
export type AuthRequest = MessageOf<typeof authRequest>

const connectAddresses = list(object({ Region: name, ServerAddr: line }), 64)
export type ConnectAddresses = MessageOf<typeof connectAddresses>

export const authAnswer = object({
  Version: text(16),
  ClientId: name,
  Error: errorText,
  Extra: object({
    Version: name,
    Region: name,
    Cookie: token,
    AccountName: name,
    SessionDuration: integer,
    PlanName: name,
    Banner: metadata,
    DeprecationWarning: optional(nullable(object({ NextMin: name, NextDate: name, Msg: metadata }))),
    ConnectAddresses: optional(connectAddresses),
    AgentSessionID: optional(name),
    // The responding gateway process; Adit agents keep their two connections on different ones.
    Node: optional(name),
  }),
})
export type AuthAnswer = MessageOf<typeof authAnswer>

export const bindRequest = object({
  Id: name,
  Proto: text(16),
  ForwardsTo: line,
  ForwardsProto: text(16),
  // Kept as received, because the response echoes it; `bindOptions` parses it.
  Opts: anyObject,
  Extra: object({
    Name: optional(name),
    Token: token,
    IPPolicyRef: name,
    Metadata: metadata,
    Description: optional(line),
    Bindings: list(name, 16),
    PoolingEnabled: flag,
  }),
})
export type BindRequest = MessageOf<typeof bindRequest>

const modules = Object.fromEntries(
  Object.keys(agentModules).map(module => [module, nullable(anyObject)]),
) as Record<AgentModule, FieldReader<JsonObject | null>>

/** The options of every protocol; modules keep their wire form, null when unset. */
export const bindOptions = object({
  URL: line,
  Domain: line,
  Hostname: line,
  Subdomain: name,
  Addr: line,
  Auth: line,
  HostHeaderRewrite: flag,
  LocalUrlScheme: name,
  ProxyProto: integer,
  // Of Adit agents only.
  Capture: flag,
  ...modules,
  MutualTLSAtAgent: flag,
  MutualTLSAtEdge: nullable(anyObject),
  TLSTermination: nullable(anyObject),
  TrafficPolicy: document,
  Policy: nullable(anyObject),
})
export type BindOptions = MessageOf<typeof bindOptions>

/** Those of a tunnel that sets none. */
export const defaultOptions: BindOptions = Object.freeze(bindOptions({}, ''))

/** Most tunnels set few options, so that they are stored without the others. */
export function withoutDefaults(options: BindOptions): Partial<BindOptions> {
  const given: Record<string, unknown> = {}
  for (const [option, value] of Object.entries(options))
    if (value !== defaultOptions[option as keyof BindOptions]) given[option] = value
  return given
}

export const bindAnswer = object({
  Id: name,
  URL: line,
  Proto: text(16),
  Opts: anyObject,
  Error: errorText,
  Extra: object({ Token: token, TunnelID: optional(name) }),
})
export type BindAnswer = MessageOf<typeof bindAnswer>

export const startTunnelWithLabelRequest = object({
  Labels: texts(64, 1024),
  ForwardsTo: line,
  ForwardsProto: text(16),
  Metadata: metadata,
})
export type StartTunnelWithLabelRequest = MessageOf<typeof startTunnelWithLabelRequest>

export const startTunnelWithLabelAnswer = object({ Id: name, Error: errorText })
export type StartTunnelWithLabelAnswer = MessageOf<typeof startTunnelWithLabelAnswer>

export const unbindRequest = object({ Id: name })
export type UnbindRequest = MessageOf<typeof unbindRequest>

export const unbindAnswer = object({ Error: errorText, Extra: nullable(anyObject) })
export type UnbindAnswer = MessageOf<typeof unbindAnswer>

export const srvInfoAnswer = object({ Region: name })

export const patchTunnelStateRequest = object({
  TunnelId: name,
  Name: optional(name),
  Description: optional(line),
  Metadata: optional(metadata),
  TrafficPolicy: optional(document),
  PoolingEnabled: optional(flag),
})
export type PatchTunnelStateRequest = MessageOf<typeof patchTunnelStateRequest>

export const updateRequest = object({ Version: name, PermitMajorVersion: flag })
export type UpdateAgentRequest = MessageOf<typeof updateRequest>

export const stopTunnelRequest = object({ Id: name, Message: errorText, ErrorCode: nullable(name) })
export type StopTunnelRequest = MessageOf<typeof stopTunnelRequest>

/** The other nodes have changed since the sign-in. */
export const connectAddressesRequest = object({ ConnectAddresses: connectAddresses })
export type ConnectAddressesRequest = MessageOf<typeof connectAddressesRequest>

/** The request of Restart, Stop and SrvInfo. */
export const emptyRequest = object({})

/** The response of Restart, Stop, Update and PatchTunnelState; an empty string is success. */
export const plainAnswer = object({ Error: errorText })
export type PlainAnswer = MessageOf<typeof plainAnswer>

export const proxyHeader = object({
  Id: name,
  ClientAddr: name,
  Proto: text(16),
  EdgeType: text(16),
  PassthroughTLS: flag,
})
export type ProxyHeader = MessageOf<typeof proxyHeader>
