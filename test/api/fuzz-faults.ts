import type { Schema } from './fuzz-document.ts'

/** One thing made wrong about a body. */
interface Fault {
  readonly what: string
  readonly body: unknown
}

const samples: readonly unknown[] = ['text', 12, 0.5, true, [], {}]

const typeOf = (value: unknown): string => {
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

/** Values of other types. */
function wrongTypes({ type }: Schema): Fault[] {
  return samples
    .filter(value => typeOf(value) !== type && !(type === 'number' && typeof value === 'number'))
    .map(body => ({ what: 'wrong type', body }))
}

function wrongText({ enum: allowed, format, pattern, minLength = 0, maxLength }: Schema): Fault[] {
  const faults: [string, string][] = []
  if (allowed) faults.push(['not one of the values', 'none of these'], ['wrong case', `${allowed[0]} `])
  if (format !== undefined) faults.push(['wrong format', 'not of this format'], ['wrong format', ''])
  if (pattern !== undefined) faults.push(['a character that is not allowed', 'a\u0000b'])
  if (minLength > 0) faults.push(['too short', ''])
  if (maxLength !== undefined) {
    faults.push(['too long', 'x'.repeat(maxLength + 1)], ['too long', '😀'.repeat(maxLength + 1)])
  }
  return faults.map(([what, body]) => ({ what, body }))
}

function wrongNumber({ type, minimum, maximum }: Schema): Fault[] {
  return [
    ...(minimum === undefined ? [] : [{ what: 'too small', body: minimum - 1 }]),
    ...(maximum === undefined ? [] : [{ what: 'too large', body: maximum + 1 }]),
    ...(type === 'integer' ? [{ what: 'far too large', body: 2 ** 63 }] : []),
  ]
}

function wrongList(
  { items = {}, minItems = 0, maxItems = 1000 }: Schema,
  value: readonly unknown[],
): Fault[] {
  const [first, ...rest] = value
  const inside = first === undefined ? [] : faultsOf(items, first)
  return [
    ...inside.map(({ what, body }) => ({ what: `[0]: ${what}`, body: [body, ...rest] })),
    { what: '[0]: null', body: [null, ...rest] },
    ...(minItems > 0 ? [{ what: 'too few', body: [] }] : []),
    { what: 'too many', body: Array.from({ length: maxItems + 1 }, () => first ?? 'text') },
  ]
}

function wrongMap(values: Schema, maxProperties: number, value: object): Fault[] {
  const [name, first] = Object.entries(value)[0] ?? ['name', undefined]
  const inside = first === undefined ? [] : faultsOf(values, first)
  const many = Array.from({ length: maxProperties + 1 }, (_, index) => [`k${index}`, first ?? 'text'])
  return [
    ...inside.map(({ what, body }) => ({ what: `${name}: ${what}`, body: { ...value, [name]: body } })),
    { what: `${name}: null`, body: { ...value, [name]: null } },
    { what: 'too many', body: Object.fromEntries(many) },
  ]
}

function wrongObject(schema: Schema, value: Readonly<Record<string, unknown>>): Fault[] {
  const { properties = {}, required = [], additionalProperties, maxProperties = 1000 } = schema
  if (typeof additionalProperties === 'object') return wrongMap(additionalProperties, maxProperties, value)
  const inside = Object.entries(properties).flatMap(([name, each]) => {
    // What is absent can be given wrongly too: as of another type.
    const faults = name in value ? faultsOf(each, value[name]) : wrongTypes(each)
    return faults.map(({ what, body }) => ({ what: `${name}: ${what}`, body: { ...value, [name]: body } }))
  })
  const without = required.flatMap(name => [
    {
      what: `${name}: missing`,
      body: Object.fromEntries(Object.entries(value).filter(([key]) => key !== name)),
    },
    // Null for what is optional means "nothing to say"; for what is required it is missing.
    { what: `${name}: null`, body: { ...value, [name]: null } },
  ])
  const unknown = [null, 'text', {}].map(more => ({
    what: 'unknown field',
    body: { ...value, unknown_field: more },
  }))
  return [...inside, ...without, ...(additionalProperties === false ? unknown : [])]
}

/** Every way to make one thing wrong about a value that fits. */
export function faultsOf(schema: Schema, value: unknown): Fault[] {
  const types = wrongTypes(schema)
  switch (schema.type) {
    case 'string':
      return [...types, ...wrongText(schema)]
    case 'integer':
    case 'number':
      return [...types, ...wrongNumber(schema)]
    case 'array':
      return [...types, ...wrongList(schema, value as unknown[])]
    case 'object':
      return [...types, ...wrongObject(schema, value as Record<string, unknown>)]
    default:
      return types
  }
}
