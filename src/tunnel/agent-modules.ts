import { type OptionKey, optionRows, type tunnelOptions } from '#tunnel/tunnel-options.ts'
import type { EndpointProto, TunnelKind, TunnelOption } from '#tunnel/tunnel-option.ts'

type ModuleOf<Path extends string> = Path extends `${infer Module}.${string}` ? Module : Path

/** The modules of the gateway that agents can request, by their names in the bind request. */
export type AgentModule = {
  [Key in OptionKey]: (typeof tunnelOptions)[Key] extends TunnelOption<unknown, infer Path>
    ? ModuleOf<Path>
    : never
}[OptionKey]

interface AgentModuleSpec {
  readonly rows: typeof optionRows
  /** The endpoints that can have it. */
  readonly protos: readonly EndpointProto[]
}

const protosOf: Readonly<Record<TunnelKind, readonly EndpointProto[]>> = {
  http: ['http', 'https'],
  tcp: ['tcp'],
  tls: ['tls'],
  tunnel: [],
}

const byModule = Map.groupBy(
  optionRows.filter(([, { module }]) => module !== undefined),
  ([, { module = '' }]) => module.split('.')[0] as AgentModule,
)

export const agentModules = Object.fromEntries(
  [...byModule].map(([name, rows]): [AgentModule, AgentModuleSpec] => {
    const protos = rows.flatMap(([, { kinds, protos: own }]) => own ?? kinds.flatMap(kind => protosOf[kind]))
    return [name, { rows, protos: [...new Set(protos)] }]
  }),
) as Readonly<Record<AgentModule, AgentModuleSpec>>
