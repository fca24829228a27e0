import type { EndpointOptions } from '#agent/options.ts'
import type { OptionValues } from '#tunnel/option-values.ts'
import type { TunnelKind } from '#tunnel/tunnel-option.ts'

export const commandProtos = ['http', 'tcp', 'tls'] as const satisfies TunnelKind[]
export type WebScheme = 'http' | 'https'

/** A requested tunnel, before its endpoints are known. */
export type Plan = EndpointOptions & OptionValues

/** A tunnel with its name in the local API. */
export interface NamedPlan {
  readonly name: string
  readonly plan: Plan
}
