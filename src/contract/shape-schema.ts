import { nullable, object, partly, type TSchema, type TUnsafe } from '#contract/schema.ts'
import type { Create, Field, Stored, Shape, View } from '#contract/shape.ts'

export const writtenName = (name: string, field: Field): string => field.as ?? name

/** Whether a caller may set this field in this operation. */
export const isWritable = (field: Field, operation: 'create' | 'update'): boolean =>
  operation === 'create' ? field.create !== 'never' : field.update

const titles = new WeakMap<Shape, string>()

/** Names the schemas of a shape, so that documents can refer to them: `IpPolicy` for `ip_policy`. */
export function named<S extends Shape>(name: string, shape: S): S {
  titles.set(
    shape,
    name.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase()),
  )
  return shape
}

function withTitle(schema: TSchema, shape: Shape, ending: string): TSchema {
  const title = titles.get(shape)
  return title === undefined ? schema : { ...schema, title: title + ending }
}

/** JSON Schema of a request body. */
export function writeSchema(shape: Shape, operation: 'create' | 'update'): TSchema {
  const properties: Record<string, TSchema> = {}
  for (const [name, field] of Object.entries(shape)) {
    if (!field.write || !isWritable(field, operation)) continue
    const schema = field.doc ? { ...field.write, description: field.doc } : field.write
    const demanded = operation === 'create' && field.create === 'required'
    properties[writtenName(name, field)] = demanded ? schema : partly(schema)
  }
  return withTitle(object(properties), shape, operation === 'create' ? 'Create' : 'Update')
}

/** JSON Schema of a response body. */
export function readSchema<S extends Shape>(shape: S): TUnsafe<View<S>> {
  const properties: Record<string, TSchema> = {}
  for (const [name, field] of Object.entries(shape)) {
    if (!field.read) continue
    const schema = field.doc ? { ...field.read, description: field.doc } : field.read
    properties[name] = field.omitWhenUnset ? partly(schema) : schema
  }
  return withTitle(object(properties), shape, '') as unknown as TUnsafe<View<S>>
}

/** An object that is always there. */
export const nested = <S extends Shape>(shape: S, doc?: string) =>
  ({
    write: writeSchema(shape, 'create'),
    read: readSchema(shape),
    create: 'optional',
    update: true,
    shape,
    ...(doc && { doc }),
  }) as Field<{
    in: Create<S>
    kept: Stored<S>
    out: View<S>
    create: 'optional'
    update: true
    as: undefined
    read: true
  }>

/** An object that is null until it is given, and replaced whole when it is given again. */
export const nullableObject = <S extends Shape>(shape: S, doc?: string) => {
  const field = nested(shape, doc)
  return { ...field, read: nullable(readSchema(shape)), fallback: null } as unknown as Field<{
    in: Create<S>
    kept: Stored<S> | null
    out: View<S> | null
    create: 'optional'
    update: true
    as: undefined
    read: true
  }>
}
