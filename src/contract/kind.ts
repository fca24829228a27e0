import type { ErrorName } from '#base/errors.ts'
import { flag, line, moment, text, type TSchema } from '#contract/schema.ts'
import { named, nullableObject } from '#contract/shape-schema.ts'
import { addedLater, computed, input, omitWhenUnset, type Field, type Shape } from '#contract/shape.ts'

export type Verb = 'create' | 'get' | 'list' | 'update' | 'delete'
const allVerbs: readonly Verb[] = ['create', 'get', 'list', 'update', 'delete']

/** A part of an edge, route or endpoint configuration that acts on traffic and can be set on its own. */
export interface Module<S extends Shape = Shape> {
  readonly name: string
  readonly doc: string
  readonly shape: S
}

const enabled = input(flag(true), 'True: the module is applied to traffic.')

/** Declares a module. Every module can be switched off without losing its configuration. */
export const module = <const S extends Shape>(spec: { name: string; doc: string; fields: S }) =>
  ({
    name: spec.name,
    doc: spec.doc,
    shape: named(`${spec.name}_module`, { enabled, ...spec.fields }),
  }) as Module<{ enabled: typeof enabled } & S>

/** An operation beyond the five verbs. */
export interface Action {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly doc: string
  /** The fields of its body, written as on create; absent where no body is read. */
  readonly input?: Shape
  /** What it returns; absent: 204. */
  readonly output?: TSchema
  /** On the collection instead of one resource. */
  readonly onCollection?: true
}

type Actions = Readonly<Record<string, Action>>
type NoActions = { readonly [N in never]: Action }

/** A list parameter: only rows with this value. */
export interface Filter {
  readonly doc: string
  /** Several values may be given, separated by commas. */
  readonly list?: boolean
  /** An RFC 3339 time instead of any string. */
  readonly moment?: boolean
  /** An address or a network in CIDR notation. */
  readonly network?: boolean
  /** The values that are allowed, as a regular expression over all of the text, and an example for the error message. */
  readonly values?: { readonly pattern: string; readonly example: string }
}

/** The type parameters of a kind beyond its fields: its operations, and how it is addressed. */
export interface KindTypes {
  path: string
  verb: Verb
  modules: Modules
  actions: Actions
  without: 'uri' | 'created_at'
  key: 'id' | 'type'
}

interface Spec<S extends Shape, M extends Modules, T extends KindTypes = KindTypes> {
  /** Singular, as in events and errors. */
  readonly name: string
  readonly doc: string
  /** Absent for kinds that are not identified by an id. */
  readonly prefix?: string
  /** The prefix of an earlier release; such ids stay valid. */
  readonly earlierPrefix?: string
  readonly path: T['path']
  readonly listKey: string
  readonly fields: S
  readonly modules?: M
  readonly verbs?: readonly T['verb'][]
  readonly actions?: T['actions']
  /** The parent kind, and the path parameter that names it. */
  readonly parent?: { readonly kind: string; readonly param: string }
  /** The same for kinds without a parent in the path: the field that names the parent. */
  readonly belongsTo?: { readonly kinds: readonly string[]; readonly field: string }
  /** Owned by a user or bot; members see only their own. */
  readonly owned?: boolean
  /** Members may refer to those of others. */
  readonly commonUse?: boolean
  /** Only admins may read or change these. */
  readonly adminOnly?: boolean
  /** Name in event types, if it differs from the kind's; false for none. */
  readonly event?: string | false
  /** Filters of a list, besides paging. */
  readonly filters?: Readonly<Record<string, Filter>>
  /** The error for deleting it while another resource refers to it. */
  readonly inUse?: ErrorName
  /** The gateway serves from these: it keeps them in memory, and their changes apply at once. */
  readonly followedByGateway?: true
  /** Online state, from the gateway rather than the store. */
  readonly live?: boolean
  readonly without?: readonly T['without'][]
}

type Modules = Readonly<Record<string, Module>>
// A record of string would allow modules of any name.
type NoModules = { readonly [N in never]: Module }
type ModuleFields<M extends Modules> = {
  [N in keyof M]: M[N] extends Module<infer S> ? ReturnType<typeof nullableObject<S>> : never
}

const identity = {
  id: computed(line(), 'Unique, assigned by the server.'),
  uri: computed(line(), 'URI of this resource.'),
  created_at: computed(moment(), 'When it was created.'),
}
type IdentityFields = typeof identity

export interface Kind<S extends Shape = Shape, T extends KindTypes = KindTypes> extends Spec<Shape, Modules> {
  readonly types?: T
  readonly shape: S
  readonly modules: Modules
  readonly verbs: readonly Verb[]
  readonly actions: Actions
  /** The path parameter and field that identify one resource. */
  readonly key: 'id' | 'type'
}

type Absent<W, K> = W | (K extends 'type' ? 'id' : never)

/** Declares a resource kind; everything else is derived from this. */
export function kind<
  const S extends Shape,
  const Path extends string,
  const M extends Modules = NoModules,
  const V extends Verb = Verb,
  const A extends Actions = NoActions,
  const W extends KindTypes['without'] = never,
  const K extends KindTypes['key'] = 'id',
>(
  spec: Spec<S, M, { path: Path; verb: V; modules: M; actions: A; without: W; key: K }> & {
    readonly key?: K
  },
): Kind<
  Omit<IdentityFields, Absent<W, K>> & S & ModuleFields<M>,
  { path: Path; verb: V; modules: M; actions: A; without: W; key: K }
> {
  const modules: Modules = spec.modules ?? {}
  const own = Object.entries(identity).filter(
    ([name]) => !spec.without?.some(left => left === name) && !(name === 'id' && spec.key === 'type'),
  )
  const moduleFields = Object.entries(modules).map(([name, { shape, doc }]): [string, Field] => [
    name,
    nullableObject(shape, doc),
  ])
  const fields = { ...Object.fromEntries(own), ...spec.fields, ...Object.fromEntries(moduleFields) }
  return {
    ...spec,
    modules,
    verbs: spec.verbs ?? allVerbs,
    actions: spec.actions ?? {},
    key: spec.key ?? 'id',
    shape: named(spec.name, fields) as unknown as Omit<IdentityFields, Absent<W, K>> & S & ModuleFields<M>,
  }
}

/** Whether an id has a prefix of this kind. */
export const hasPrefixOf = ({ prefix, earlierPrefix }: Kind, id: string): boolean =>
  isPrefixOf(prefix, id) || isPrefixOf(earlierPrefix, id)

const isPrefixOf = (prefix: string | undefined, id: string): boolean =>
  prefix !== undefined && id.startsWith(prefix) && id[prefix.length] === '_'

const limited = (maxBytes: number, refusal: ErrorName) => text({ maxBytes, refusals: { maxBytes: refusal } })

/** Human-readable purpose; `refusal` is the error for one that is too long. */
export const description = (refusal: ErrorName = 'description_too_long') =>
  input(limited(255, refusal), 'Human-readable purpose, at most 255 bytes.')

/** Opaque data of the caller. */
export const metadata = (refusal: ErrorName = 'metadata_too_long') =>
  input(limited(4096, refusal), 'Opaque data of the caller, often JSON, at most 4096 bytes.')

/** Where traffic passes: whether it is recorded all the time. */
export const captureFlag = () =>
  addedLater(
    input(
      flag(false),
      'Capture headers and bodies of all requests, for the owner of the endpoint and admins. To capture for 10 minutes only, create a capture.',
    ),
    false,
  )

/**
 * Who, besides admins, may change a resource and read its secrets. Not a reference: a resource outlives its owner, and
 * then belongs to the admins.
 */
export const owner = () =>
  omitWhenUnset(
    input(
      line({ maxBytes: 64 }),
      'The user or bot that owns it, by default the caller. Only the owner and admins may change it, refer to it and read its secrets. Null shares it with all members, but not its secrets. Only admins may name another owner.',
    ),
  )
