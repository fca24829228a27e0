import type { EndpointOptions, OAuthOptions, OidcOptions, WebhookOptions } from '#agent/options.ts'
import type { ValueForm } from '#cli/agent/forms.ts'

export const commandProtos = ['http', 'tcp', 'tls'] as const
/** Tunnel kinds; `tunnel` has labels instead of an address. */
export type TunnelKind = (typeof commandProtos)[number] | 'tunnel'
export type WebScheme = 'http' | 'https'

/** A requested tunnel, before its endpoints are known. */
export interface Plan extends EndpointOptions {
  readonly schemes?: readonly WebScheme[] | undefined
  readonly crt?: string | undefined
  readonly key?: string | undefined
}

/** A tunnel with its name in the local API. */
export interface NamedPlan {
  readonly name: string
  readonly plan: Plan
}

/** All flags that set an option. */
export const flagsFor = (
  flag: string,
  { otherFlags = [], aliases = [] }: TunnelOption<unknown>,
): string[] => [flag, ...otherFlags, ...aliases]

/** The effect of one option; values such as sign-in come from several. */
export interface PlanPart extends Omit<Plan, 'oauth' | 'oidc' | 'verifyWebhook'> {
  readonly oauth?: Partial<OAuthOptions> | undefined
  readonly oidc?: Partial<OidcOptions> | undefined
  readonly verifyWebhook?: Partial<WebhookOptions> | undefined
}

/** One tunnel option: flag, YAML key, help and meaning follow from this. */
export interface TunnelOption<Value> {
  readonly form: ValueForm<Value>
  readonly doc: string
  readonly kinds: readonly TunnelKind[]
  readonly to: (value: Value) => PlanPart
  /** The flag name if it is not the key with dashes. */
  readonly flag?: string
  /** Aliases. */
  readonly otherFlags?: readonly string[]
  /** Names of the flag in the hosted agent; accepted, and hidden from the help. */
  readonly aliases?: readonly string[]
  readonly secret?: true
  /** The variable with its default, for tunnels without it. */
  readonly variable?: { readonly name: string; readonly missingFrom: (plan: Plan) => boolean }
}

export const option = <Value>(spec: TunnelOption<Value>): TunnelOption<Value> => spec

export const web: readonly TunnelKind[] = ['http']
export const named: readonly TunnelKind[] = ['http', 'tls']
export const addressed: readonly TunnelKind[] = ['http', 'tcp', 'tls']
export const every: readonly TunnelKind[] = ['http', 'tcp', 'tls', 'tunnel']
