import { openApi } from '#contract/openapi.ts'
import { operations, isPaged, type Operation } from '#contract/operations.ts'
import { singletons, type Singleton } from '#contract/singletons.ts'
import { streams, type Stream } from '#contract/streams.ts'
import { isList } from '#client/method.ts'

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
}

interface Described {
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

interface Content {
  readonly 'application/json': { readonly schema: Schema }
  readonly 'text/event-stream'?: { readonly 'x-event-data': Readonly<Record<string, Schema>> }
}

const HEAD = `/** Typed client of the management API of Adit. */

export interface PageRequest {
  /** 1 to 100; 100 when absent. */
  readonly limit?: number
  /** Only resources older than this id. */
  readonly before_id?: string
  readonly [filter: string]: string | number | undefined
}

export interface Page<Item> {
  /** Newest first. */
  readonly items: Item[]
  /** What to ask for next; absent on the last page. */
  readonly next?: PageRequest
}

export interface StreamOptions {
  /** Ends the stream. */
  readonly signal?: AbortSignal
  /** Called with the number of messages that were not read in time. */
  readonly dropped?: (count: number) => void
}

export interface ClientOptions {
  /** Where the API is, such as \`http://127.0.0.1:4600\`. */
  readonly url: string
  /** The token of an API key. */
  readonly token: string
  readonly fetch?: typeof globalThis.fetch
  /** How long one call may take, its response included; 30 seconds when absent. */
  readonly timeoutMs?: number
}

/** The API rejected a call; the message is the server's own. */
export declare class ApiError extends Error {
  readonly status: number
  /** Such as \`ERR_ADIT_413\`; undefined where the catalogue has no number for it. */
  readonly code: string | undefined
  /** Names the call in the server's log. */
  readonly operationId: string | undefined
  /** The field of the body, or the parameter, that is wrong. */
  readonly field: string | undefined
}

/** An argument that cannot be one, such as an empty id; nothing was sent. */
export declare class ArgumentError extends TypeError {}

/** No response: nothing listens, the connection broke, or the time was up. Whether the call took effect is unknown. */
export declare class UnreachableError extends Error {}

export declare function createClient(options: ClientOptions): Client
`

const document = openApi('') as Document

/** The declarations of the client, written out from the contract so that they need no other package. */
export function clientTypes(): string {
  const schemas = Object.entries(document.components.schemas).map(
    ([name, schema]) => `export type ${name} = ${typeOf(schema)}\n`,
  )
  const collections = [...Map.groupBy(operations, ({ collection }) => collection)].map(
    ([name, all]) => `  readonly ${name}: {\n${all.flatMap(methods).join('\n')}\n  }`,
  )
  const once = Object.entries<Singleton>(singletons).map(([name, { method = 'GET', path, summary }]) => {
    const schema =
      document.paths[path]?.[method.toLowerCase()]?.responses['200']?.content?.['application/json'].schema
    return `  /** ${summary} */\n  ${name}(): Promise<${schema ? typeOf(schema, 2) : 'unknown'}>`
  })
  const followed = `  readonly streams: {\n${Object.entries(streams).map(streamMethod).join('\n')}\n  }`
  const client = `export interface Client {\n${[...collections, ...once, followed].join('\n')}\n}\n`
  return [HEAD, ...schemas, client].join('\n')
}

function streamMethod([name, { path, summary, event, filters }]: [string, Stream]): string {
  const content = document.paths[path]?.['get']?.responses['200']?.content
  const schema = content?.['text/event-stream']?.['x-event-data'][event]
  if (!schema) throw new Error(`the OpenAPI document has no ${path}`)
  const given = Object.keys(filters).map(filter => `readonly ${filter}?: string`)
  const args = `filters?: { ${given.join('; ')} }, options?: StreamOptions`
  return `    /** ${summary} */\n    ${name}(${args}): AsyncGenerator<${typeOf(schema, 2)}, void>`
}

function methods(operation: Operation): string[] {
  const { word, summary, params, kind } = operation
  const described = document.paths[operation.path]?.[operation.method.toLowerCase()]
  if (!described) throw new Error(`the OpenAPI document has no ${operation.id}`)
  const above = params.map(name => `${name}: string`)
  const doc = `    /** ${summary} */`
  if (isList(operation)) {
    const listed = outputOf(operation, described).properties?.[kind.listKey]?.items
    const item = listed ? typeOf(listed) : 'unknown'
    const args = [...above, ...(isPaged(kind) ? ['page?: PageRequest'] : [])].join(', ')
    return [
      `${doc}\n    list(${args}): Promise<Page<${item}>>`,
      `    /** Every resource, page after page. */\n    all(${args}): AsyncGenerator<${item}, void>`,
    ]
  }
  const input = described.requestBody?.content['application/json'].schema
  const args = [...above, ...(input ? [`body: ${typeOf(input)}`] : [])].join(', ')
  const result = operation.output ? typeOf(outputOf(operation, described)) : 'void'
  return [`${doc}\n    ${word}(${args}): Promise<${result}>`]
}

function outputOf(operation: Operation, described: Described): Schema {
  const schema = described.responses[operation.status]?.content?.['application/json'].schema
  if (!schema) throw new Error(`${operation.id} has no response`)
  return schema
}

function typeOf(schema: Schema, depth = 0): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1) ?? 'unknown'
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map(value => JSON.stringify(value)).join(' | ')
  const either = schema.anyOf ?? schema.oneOf
  if (either) return either.map(each => typeOf(each, depth)).join(' | ')
  if (Array.isArray(schema.type))
    return schema.type.map(type => typeOf({ ...schema, type }, depth)).join(' | ')
  if (schema.type === 'array') return `Array<${schema.items ? typeOf(schema.items, depth) : 'unknown'}>`
  if (schema.type === 'object') return objectType(schema, depth)
  if (schema.type === 'integer') return 'number'
  return typeof schema.type === 'string' ? schema.type : 'unknown'
}

function objectType({ properties, required = [], additionalProperties }: Schema, depth: number): string {
  if (!properties) {
    const value = typeof additionalProperties === 'object' ? typeOf(additionalProperties, depth) : 'unknown'
    return `Record<string, ${value}>`
  }
  const indent = '  '.repeat(depth + 1)
  const fields = Object.entries(properties).map(([name, schema]) => {
    const doc = schema.description === undefined ? '' : `${indent}/** ${schema.description} */\n`
    return `${doc}${indent}${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema, depth + 1)}`
  })
  return fields.length === 0 ? 'Record<string, never>' : `{\n${fields.join('\n')}\n${'  '.repeat(depth)}}`
}
