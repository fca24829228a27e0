import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { fail, type ErrorName } from '#base/errors.ts'
import type { Extras, TSchema } from '#contract/schema.ts'

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/i
const EMAIL = /^[^\s@<>()",;:\\]+@[^\s@<>()",;:\\.]+(\.[^\s@<>()",;:\\.]+)*$/

const ajv = new Ajv({
  verbose: true,
  strict: true,
  allowUnionTypes: true,
  formats: {
    'date-time': text => RFC3339.test(text) && !Number.isNaN(Date.parse(text)),
    email: EMAIL,
  },
  keywords: ['refusal', 'refusals', 'missing'],
})
ajv.addKeyword({
  keyword: 'maxBytes',
  type: 'string',
  schemaType: 'number',
  // One UTF-16 unit takes at most three bytes, so short texts need no counting.
  validate: (limit: number, text: string) => text.length * 3 <= limit || Buffer.byteLength(text) <= limit,
})

const compiled = new WeakMap<TSchema, ValidateFunction>()

function validatorFor(schema: TSchema): ValidateFunction {
  const known = compiled.get(schema)
  if (known) return known
  const made = ajv.compile(schema)
  compiled.set(schema, made)
  return made
}

/** Rejects an invalid body, with the first invalid field and what to change. */
export function validate(schema: TSchema, body: unknown): void {
  const check = validatorFor(schema)
  const [error] = check(body) ? [] : (check.errors ?? [])
  if (error) refuse(error)
}

const dotted = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.')

function refuse(error: ErrorObject): never {
  const at = dotted(error.instancePath)
  const inside = (name: string) => (at ? `${at}.${name}` : name)
  const schema = (error.parentSchema ?? {}) as Extras
  if (error.keyword === 'additionalProperties') {
    const supported = Object.keys(schema['properties'] ?? {}).join(', ') || 'none'
    return fail('unknown_field', { field: inside(String(error.params['additionalProperty'])), supported })
  }
  if (error.keyword === 'required') {
    const name = String(error.params['missingProperty'])
    const property = ((schema['properties'] ?? {}) as Record<string, Extras>)[name]
    return refuseAs(property?.missing ?? 'missing_field', inside(name), 'is required', '')
  }
  const code = schema.refusals?.[error.keyword] ?? schema.refusal
  return refuseAs(code ?? 'invalid_value', at || 'body', reasonFor(error), error.data)
}

function refuseAs(code: ErrorName, field: string, reason: string, value: unknown): never {
  const shown = typeof value === 'string' ? value.slice(0, 100) : JSON.stringify(value)?.slice(0, 100)
  const text = shown ?? ''
  return fail(code as 'invalid_value', {
    field,
    reason,
    value: text,
    id: text,
    rule: text,
    kinds: '',
    label: text,
  })
}

const types: Record<string, string> = {
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}

function reasonFor(error: ErrorObject): string {
  const { params, keyword } = error
  switch (keyword) {
    case 'type':
      return `must be ${types[String([params['type']].flat()[0])] ?? String(params['type'])}`
    case 'enum':
      return `must be one of ${(params['allowedValues'] as string[]).join(', ')}`
    case 'maxBytes':
      return `may have at most ${String(error.schema)} bytes`
    case 'maxItems':
      return `may have at most ${String(params['limit'])} entries`
    case 'maxProperties':
      return `may have at most ${String(params['limit'])} entries`
    case 'minLength':
    case 'minItems':
      return 'must not be empty'
    case 'format':
      return error.schema === 'email'
        ? 'must be an e-mail address'
        : 'must be an RFC 3339 time, such as 2030-01-31T12:00:00Z'
    case 'pattern':
      return 'has characters that are not allowed there'
    case 'minimum':
    case 'maximum':
      return `must be ${String(params['comparison'])} ${String(params['limit'])}`
    default:
      return error.message ?? 'is not acceptable'
  }
}
