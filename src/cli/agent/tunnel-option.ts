import type { EndpointOptions, OAuthOptions, OidcOptions, WebhookOptions } from '#agent/options.ts'
import type { Form } from '#cli/agent/forms.ts'

export const commandProtos = ['http', 'tcp', 'tls'] as const
/** What a tunnel is for; `tunnel` is one that has labels instead of an address. */
export type TunnelKind = (typeof commandProtos)[number] | 'tunnel'
export type Scheme = 'http' | 'https'

/** A tunnel as it was asked for, before it is known which endpoints that makes. */
export interface Plan extends EndpointOptions {
  readonly schemes?: readonly Scheme[] | undefined
  readonly crt?: string | undefined
  readonly key?: string | undefined
}

/** A tunnel with the name that the local API knows it by. */
export interface NamedPlan {
  readonly name: string
  readonly plan: Plan
}

/** All flags that set an option. */
export const flagsFor = (
  flag: string,
  { otherFlags = [], aliases = [] }: TunnelOption<unknown>,
): string[] => [flag, ...otherFlags, ...aliases]

/** What one option says; the parts of one thing, such as who may sign in and where, come from several. */
export interface PlanPart extends Omit<Plan, 'oauth' | 'oidc' | 'verifyWebhook'> {
  readonly oauth?: Partial<OAuthOptions> | undefined
  readonly oidc?: Partial<OidcOptions> | undefined
  readonly verifyWebhook?: Partial<WebhookOptions> | undefined
}

/** One option of tunnels: its flag, its key in YAML, its help and what it means follow from this. */
export interface TunnelOption<Value> {
  readonly form: Form<Value>
  readonly doc: string
  readonly kinds: readonly TunnelKind[]
  readonly to: (value: Value) => PlanPart
  /** The name of the flag where it is not the key with dashes. */
  readonly flag?: string
  /** Other flags that mean the same. */
  readonly otherFlags?: readonly string[]
  /** What the hosted agent calls the flag; accepted, and left out of the help. */
  readonly aliases?: readonly string[]
  readonly secret?: true
  /** The variable that it comes from where it was not written down, for tunnels that it is missing from. */
  readonly variable?: { readonly name: string; readonly missingFrom: (plan: Plan) => boolean }
}

export const option = <Value>(spec: TunnelOption<Value>): TunnelOption<Value> => spec

export const web: readonly TunnelKind[] = ['http']
export const named: readonly TunnelKind[] = ['http', 'tls']
export const addressed: readonly TunnelKind[] = ['http', 'tcp', 'tls']
export const every: readonly TunnelKind[] = ['http', 'tcp', 'tls', 'tunnel']
