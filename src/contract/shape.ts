import type { ErrorName } from '#base/errors.ts'
import {
  line,
  listOf,
  nullable,
  refSchema,
  type Extras,
  type Ref,
  type Static,
  type TSchema,
} from '#contract/schema.ts'

/** The types of a field: as written, stored and read, and when a caller may write it. */
interface FieldTypes {
  in: unknown
  kept: unknown
  out: unknown
  create: 'required' | 'optional' | 'never'
  update: boolean
  as: string | undefined
  read: boolean
}

/** The kinds that an id may name, and the errors for a wrong or unknown one. */
export interface ReferenceTarget {
  readonly kinds: readonly string[]
  readonly wrong: ErrorName
  readonly missing: ErrorName
}

/** One field of a resource or module: its only declaration. */
export interface Field<T extends FieldTypes = FieldTypes> {
  readonly types?: T
  readonly write?: TSchema
  /** Absent for a field that is written but never returned. */
  readonly read?: TSchema
  readonly create: T['create']
  readonly update: T['update']
  /** The name a caller writes, where it differs from the name read. */
  readonly as?: string
  /** The stored value when the caller gives none. */
  readonly fallback?: unknown
  /** What its absence means in a resource stored before the field existed; `fallback` otherwise. */
  readonly earlier?: unknown
  /** Null clears the value, while for other fields it means absent, and responses omit it while it is unset. */
  readonly omitWhenUnset?: true
  /** Set when the value is an id, a list of ids or a map keyed by ids. */
  readonly target?: ReferenceTarget
  /** True when the ids are returned as Refs. */
  readonly expand?: boolean
  /** Encrypted at rest; `masked` ones are returned as the empty string. */
  readonly secret?: 'returned' | 'masked' | 'hidden'
  /** Stored as plain text, but masked like a secret: callers put tokens there. Of a `url` the origin stays. */
  readonly sensitive?: 'value' | 'url'
  readonly shape?: Shape
  readonly doc?: string
}

export type Shape = Readonly<Record<string, Field>>

type TypesOf<F> = F extends Field<infer T> ? T : never
type With<T extends FieldTypes, Part extends Partial<FieldTypes>> = Field<
  Omit<T, keyof Part> & Part & FieldTypes
>

interface Plain<Value> extends FieldTypes {
  in: Value
  kept: Value
  out: Value
  create: 'optional'
  update: true
  as: undefined
  read: true
}

const isField = (value: Field | TSchema): value is Field => 'create' in value && 'update' in value

/** A field that a caller may write on create and on update. */
export function input<S extends TSchema>(schema: S, doc?: string): Field<Plain<Static<S>>> {
  const fallback: unknown =
    'default' in schema ? schema.default : 'type' in schema && schema.type === 'string' ? '' : null
  return { write: schema, read: schema, create: 'optional', update: true, fallback, ...(doc && { doc }) }
}

/** A field whose absence means "none", returned as null. */
export const optional = <S extends TSchema>(schema: S, doc?: string) =>
  ({ ...input(schema, doc), read: nullable(schema), fallback: null }) as Field<
    Omit<Plain<Static<S>>, 'kept' | 'out'> & { kept: Static<S> | null; out: Static<S> | null }
  >

/** A field that resources of earlier releases lack; they keep the behaviour of the value `earlier`. */
export const addedLater = <F extends Field>(field: F, earlier: TypesOf<F>['kept']) =>
  ({ ...field, earlier }) as F

/** Omitted from responses while unset, so that clients that do not know it never see it. */
export const omitWhenUnset = <F extends Field>(field: F) =>
  ({ ...field, omitWhenUnset: true }) as unknown as With<TypesOf<F>, { out: TypesOf<F>['out'] | undefined }>

type AsField<F> = F extends Field<infer T> ? Field<T> : F extends TSchema ? Field<Plain<Static<F>>> : never

const asField = (value: Field | TSchema): Field => (isField(value) ? value : input(value))

/** Required on create. */
export const required = <F extends Field | TSchema>(value: F, doc?: string) =>
  ({ ...asField(value), create: 'required', ...(doc && { doc }) }) as With<
    TypesOf<AsField<F>>,
    { create: 'required' }
  >

/** Cannot change after create. */
export const immutable = <F extends Field | TSchema>(value: F, doc?: string) =>
  ({ ...asField(value), update: false, ...(doc && { doc }) }) as With<TypesOf<AsField<F>>, { update: false }>

/** Set only by the server. */
export const computed = <S extends TSchema>(schema: S, doc?: string) =>
  ({ read: schema, create: 'never', update: false, ...(doc && { doc }) }) as Field<
    Omit<Plain<Static<S>>, 'create' | 'update'> & { create: 'never'; update: false }
  >

/** A resource chosen by the server: stored as an id, returned as a Ref or null. */
export const shownRef = (doc?: string) =>
  ({ ...computed(nullable(refSchema), doc), fallback: null, expand: true }) as Field<
    Omit<Plain<Ref | null>, 'create' | 'update' | 'kept'> & {
      create: 'never'
      update: false
      kept: string | null
    }
  >

/** The same for several. */
export const shownRefs = (doc?: string) =>
  ({ ...computed(listOf(refSchema), doc), fallback: [], expand: true }) as unknown as Field<
    Omit<Plain<Ref[]>, 'create' | 'update' | 'kept'> & { create: 'never'; update: false; kept: string[] }
  >

/** Encrypted at rest. `returned`: the specification shows it to callers; `masked`: read as ""; `hidden`: not read. */
export const secret = <F extends Field>(field: F, secrecy: 'returned' | 'masked' | 'hidden') => {
  const { read, ...rest } = field
  return { ...rest, ...(secrecy !== 'hidden' && { read }), secret: secrecy } as F
}

/** May contain a secret of the caller, so it is masked for readers without access to secrets. */
export const sensitive = <F extends Field>(field: F, kind: 'value' | 'url'): F => ({
  ...field,
  sensitive: kind,
})

/** Written, never returned. */
export const writeOnly = <F extends Field>(field: F) => {
  const { read: _, ...rest } = field
  return rest as unknown as With<TypesOf<F>, { read: false }>
}

/** A secret that is written and never returned. */
export const hidden = <F extends Field>(field: F) =>
  secret(field, 'hidden') as unknown as With<TypesOf<F>, { read: false }>

/** A secret key that the server generates. */
export const ownSecret = (): Field<
  Omit<Plain<string>, 'create' | 'update' | 'read'> & { create: 'never'; update: false; read: false }
> => ({ create: 'never', update: false, secret: 'hidden' })

/** Internal: neither written nor read by callers. */
export const internal = (): Field<
  Omit<Plain<string>, 'create' | 'update' | 'read'> & { create: 'never'; update: false; read: false }
> => ({ create: 'never', update: false, fallback: '' })

/** The id of another resource as clients write it. An empty string would be stored as a reference to nothing. */
export const idText = (target: ReferenceTarget, extras: Pick<Extras, 'missing'> = {}) =>
  line({ minLength: 1, refusal: target.wrong, refusals: { minLength: 'reference_empty' }, ...extras })

/** A plain id of another resource, returned as written. */
export const idOf = <F extends Field>(target: ReferenceTarget, field: F) => ({ ...field, target }) as F

/** One other resource: written as `<name>_id`, returned as a Ref or null. */
export const ref = <const As extends string>(target: ReferenceTarget, as: As, doc?: string) =>
  ({
    write: idText(target),
    read: nullable(refSchema),
    create: 'optional',
    update: true,
    as,
    fallback: null,
    target,
    expand: true,
    ...(doc && { doc }),
  }) as Field<{
    in: string
    kept: string | null
    out: Ref | null
    create: 'optional'
    update: true
    as: As
    read: true
  }>

/** A list of other resources: written as `<name>_ids`, returned as Refs in the same order. */
export const refs = <const As extends string>(
  target: ReferenceTarget,
  as: As,
  limits: { min?: number; max?: number; tooFew?: ErrorName; tooMany?: ErrorName } = {},
) =>
  ({
    write: listOf(idText(target), {
      ...(limits.min && { minItems: limits.min }),
      maxItems: limits.max ?? 100,
      ...(limits.tooFew && { missing: limits.tooFew }),
      refusals: {
        ...(limits.tooFew && { minItems: limits.tooFew }),
        ...(limits.tooMany && { maxItems: limits.tooMany }),
      },
    }),
    read: listOf(refSchema),
    create: 'optional',
    update: true,
    as,
    fallback: [],
    target,
    expand: true,
  }) as Field<{
    in: string[]
    kept: string[]
    out: Ref[]
    create: 'optional'
    update: true
    as: As
    read: true
  }>

type NamesBy<S extends Shape, Operation extends 'create' | 'update', Need> = {
  [N in keyof S]: Operation extends 'create'
    ? TypesOf<S[N]>['create'] extends Need
      ? N
      : never
    : TypesOf<S[N]>['update'] extends true
      ? Need extends 'optional'
        ? N
        : never
      : never
}[keyof S]

type Written<N, F> = TypesOf<F>['as'] extends string ? TypesOf<F>['as'] : N
type Flat<T> = { [N in keyof T]: T[N] }

export type Create<S extends Shape> = Flat<
  { [N in NamesBy<S, 'create', 'required'> as Written<N, S[N]> & PropertyKey]: TypesOf<S[N]>['in'] } & {
    [N in NamesBy<S, 'create', 'optional'> as Written<N, S[N]> & PropertyKey]?: TypesOf<S[N]>['in']
  }
>
export type Update<S extends Shape> = Flat<{
  [N in NamesBy<S, 'update', 'optional'> as Written<N, S[N]> & PropertyKey]?: TypesOf<S[N]>['in']
}>
export type Stored<S extends Shape> = Flat<{ -readonly [N in keyof S]: TypesOf<S[N]>['kept'] }>
export type View<S extends Shape> = Flat<{
  [N in keyof S as TypesOf<S[N]>['read'] extends true ? N : never]: TypesOf<S[N]>['out']
}>
