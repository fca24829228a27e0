import fc, { type Arbitrary } from 'fast-check'
import type { Schema } from './fuzz-document.ts'

/** Characters of one to four bytes, some of which combine, change case oddly or are written from right to left. */
const odd = fc.constantFrom(
  'a',
  'Z',
  '0',
  '-',
  '.',
  '/',
  ':',
  '"',
  '\\',
  '\n',
  'é',
  'ß',
  'İ',
  'א',
  '漢',
  '😀',
  '\u202e',
)
const word = fc.stringMatching(/^[a-z0-9-]{1,12}$/)

function text(schema: Schema): Arbitrary<string> {
  const { minLength = 0, maxLength = 1000, pattern } = schema
  const size = { minLength, maxLength: Math.max(minLength, Math.min(maxLength, 40)) }
  const allowed = new RegExp(pattern ?? '', 'u')
  // Only negated classes of control characters allow most of what is random; other patterns say what to write.
  if (pattern !== undefined && !pattern.startsWith('^[^')) return fc.stringMatching(allowed)
  const any = [fc.string({ unit: 'grapheme', ...size }), fc.string({ unit: odd, ...size }), word]
  const longest = fc.constantFrom('x'.repeat(maxLength), '漢'.repeat(Math.max(minLength, maxLength / 3)))
  return fc
    .oneof(
      ...any.map(arbitrary => ({ weight: 6, arbitrary })),
      { weight: 1, arbitrary: fc.constant('') },
      { weight: 1, arbitrary: longest },
    )
    .filter(value => allowed.test(value) && value.length >= minLength && value.length <= maxLength)
}

const formats: Readonly<Record<string, Arbitrary<string>>> = {
  'date-time': fc
    .date({ min: new Date('1980-01-01'), max: new Date('2090-01-01'), noInvalidDate: true })
    .map(date => date.toISOString()),
  email: fc.tuple(word, word).map(([name, host]) => `${name}@${host}.example.com`),
}

const string = (schema: Schema): Arbitrary<unknown> =>
  schema.enum ? fc.constantFrom(...schema.enum) : (formats[schema.format ?? ''] ?? text(schema))

function numeric({ type, minimum = -1000, maximum = 1000 }: Schema): Arbitrary<number> {
  const between =
    type === 'integer'
      ? fc.integer({ min: minimum, max: maximum })
      : fc.double({ min: minimum, max: maximum, noNaN: true })
  return fc.oneof(
    { weight: 4, arbitrary: between },
    { weight: 1, arbitrary: fc.constantFrom(minimum, maximum) },
  )
}

function list(schema: Schema): Arbitrary<unknown[]> {
  const { minItems = 0, maxItems = 1000 } = schema
  const item = valid(schema.items ?? {})
  const full = item.map(value => Array.from({ length: maxItems }, () => value))
  const short = fc.array(item, { minLength: minItems, maxLength: Math.min(maxItems, minItems + 3) })
  return fc.oneof({ weight: 15, arbitrary: short }, { weight: 1, arbitrary: full })
}

function map(values: Schema, maxProperties: number): Arbitrary<object> {
  const value = valid(values)
  const key = fc.oneof(word, fc.string({ unit: odd, maxLength: 20 }))
  const full = value.map(each =>
    Object.fromEntries(Array.from({ length: maxProperties }, (_, index) => [`k${index}`, each])),
  )
  const small = fc.dictionary(key, value, { maxKeys: Math.min(3, maxProperties), noNullPrototype: true })
  return fc.oneof({ weight: 15, arbitrary: small }, { weight: 1, arbitrary: full })
}

function object({ properties, required, additionalProperties, maxProperties }: Schema): Arbitrary<object> {
  if (typeof additionalProperties === 'object') return map(additionalProperties, maxProperties ?? 1000)
  if (!properties) return fc.dictionary(word, fc.jsonValue({ maxDepth: 3 }), { noNullPrototype: true })
  const fields = Object.entries(properties).map(([name, schema]) => {
    const value = valid(schema)
    const needed = required?.includes(name) === true
    return fc.tuple(fc.constant(name), needed ? value : fc.option(value, { freq: 3, nil: undefined }))
  })
  return fc
    .tuple(...fields)
    .map(entries => Object.fromEntries(entries.filter(([, value]) => value !== undefined)))
}

/** Values that fit a schema: random ones, and those at its limits. */
export function valid(schema: Schema): Arbitrary<unknown> {
  const { type } = schema
  if (typeof type === 'object') return fc.oneof(...type.map(each => valid({ ...schema, type: each })))
  switch (type) {
    case 'null':
      return fc.constant(null)
    case 'string':
      return string(schema)
    case 'integer':
    case 'number':
      return numeric(schema)
    case 'boolean':
      return fc.boolean()
    case 'array':
      return list(schema)
    case 'object':
      return object(schema)
    default:
      throw new Error(`no values are known for ${JSON.stringify(schema)}`)
  }
}
