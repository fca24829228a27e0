import type { ValueForm } from '#base/value-forms.ts'

/** Tunnel kinds; `tunnel` has labels instead of an address. */
export type TunnelKind = 'http' | 'tcp' | 'tls' | 'tunnel'
export type EndpointProto = 'http' | 'https' | 'tcp' | 'tls'
/** The headings in the help. */
type OptionGroup = 'Address' | 'Access' | 'Traffic' | 'TLS' | 'Service' | 'Inspection'

/** One tunnel option: flag, YAML key, help, property of the library and place in the bind request follow from this. */
export interface TunnelOption<Value, Module extends string = string> {
  readonly form: ValueForm<Value>
  readonly doc: string
  readonly group: OptionGroup
  readonly kinds: readonly TunnelKind[]
  /** The gateway's module that implements it, and its member there: `OAuth.scopes`. A switch has no member. */
  readonly module?: Module
  /** The endpoints for which the gateway has that module, if not all of `kinds`. */
  readonly protos?: readonly EndpointProto[]
  /** The flag name if it is not the key with dashes. */
  readonly flag?: string
  /** Aliases. */
  readonly otherFlags?: readonly string[]
  /** Names of the flag in the hosted agent; accepted, and hidden from the help. */
  readonly aliases?: readonly string[]
  readonly secret?: true
  /** The value that means that the option is not set. */
  readonly unsetBy?: Value
  /** The variable with its default, for tunnels that have the option `needs` but not this one. */
  readonly variable?: { readonly name: string; readonly needs: string }
}

export const option = <Value, const Module extends string = never>(
  spec: TunnelOption<Value, Module>,
): TunnelOption<Value, Module> => spec

/** The part of a map without which the others mean nothing. */
export interface MainPart {
  /** Its name in messages, such as "a provider". */
  readonly main: string
}

export const mainPart = <Value, const Module extends string>(
  spec: TunnelOption<Value, Module> & MainPart,
): TunnelOption<Value, Module> & MainPart => spec

export const web: readonly TunnelKind[] = ['http']
export const named: readonly TunnelKind[] = ['http', 'tls']
export const addressed: readonly TunnelKind[] = ['http', 'tcp', 'tls']
export const every: readonly TunnelKind[] = ['http', 'tcp', 'tls', 'tunnel']
