import assert from 'node:assert/strict'
import { Ajv, type ValidateFunction } from 'ajv'
import type { Answer, Caller } from '../support/server.ts'

/** The part of JSON Schema that the document uses. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: string
}

interface Content {
  readonly content?: { readonly 'application/json': { readonly schema: Schema } }
}

interface Described {
  readonly operationId: string
  readonly tags?: readonly string[]
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content & { readonly $ref?: string }>>
}

/** One operation, as the served document describes it. */
export interface Documented extends Described {
  readonly method: string
  readonly path: string
  readonly collection: string
  /** What it does to the collection, such as `create` or `replace_oauth`. */
  readonly word: string
  readonly body: Schema | undefined
}

const ajv = new Ajv({
  strict: false,
  formats: { 'date-time': text => !Number.isNaN(Date.parse(text)), email: /^[^\s@]+@[^\s@]+$/ },
})
const compiled = new WeakMap<Schema, ValidateFunction>()

export function fits(schema: Schema, value: unknown): boolean {
  const check = compiled.get(schema) ?? ajv.compile(schema)
  compiled.set(schema, check)
  return check(value)
}

const faults = (schema: Schema): string => JSON.stringify(compiled.get(schema)?.errors)

/** Replaces references by the named schemas. */
function resolved(part: unknown, schemas: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(part)) return part.map(each => resolved(each, schemas))
  if (typeof part !== 'object' || part === null) return part
  const name = '$ref' in part ? /^#\/components\/schemas\/(\w+)$/.exec(String(part.$ref))?.[1] : undefined
  if (name !== undefined) {
    assert.ok(schemas[name], `the document refers to ${name} but does not have it`)
    return resolved(schemas[name], schemas)
  }
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, resolved(value, schemas)]))
}

export class OpenApiDocument {
  readonly operations: readonly Documented[]
  readonly #refused: Schema

  private constructor(operations: readonly Documented[], refused: Schema) {
    this.operations = operations
    this.#refused = refused
  }

  static async fetch(api: Caller): Promise<OpenApiDocument> {
    const { status, body } = await api.get('/openapi.json', { token: null })
    assert.equal(status, 200)
    const paths = resolved(body.paths, body.components.schemas) as Record<string, Record<string, Described>>
    // A stream has no end to wait for, and signing in is not an operation on a collection.
    const finite = Object.entries(paths).filter(
      ([path]) => !path.endsWith('/stream') && !path.startsWith('/dashboard/'),
    )
    const operations = finite.flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, described]) => {
        const collection = described.tags?.[0] ?? ''
        return {
          ...described,
          method: method.toUpperCase(),
          path,
          collection,
          word: described.operationId.slice(collection.length + 1),
          body: described.requestBody?.content?.['application/json'].schema,
        }
      }),
    )
    return new OpenApiDocument(
      operations,
      body.components.responses.Refused.content['application/json'].schema,
    )
  }

  /** Refuses an answer that the document does not promise. */
  check(operation: Documented, { status, headers, body }: Answer): void {
    assert.ok(status < 500, `${status}: ${JSON.stringify(body)}`)
    const response = operation.responses[status]
    assert.ok(response, `the document does not list ${status}: ${JSON.stringify(body)}`)
    assert.match(headers.get('adit-operation-id') ?? '', /^op_\w{27}$/)
    if (status === 204) return
    assert.match(headers.get('content-type') ?? '', /^application\/json\b/)
    const schema = status < 300 ? response.content?.['application/json'].schema : this.#refused
    assert.ok(schema, `the document describes no body for ${status}`)
    assert.ok(fits(schema, body), `${faults(schema)} in ${JSON.stringify(body).slice(0, 2000)}`)
    if (status >= 400) assert.equal(body.status_code, status)
  }
}
