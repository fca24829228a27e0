import { CSRF_HEADER, dashboardCalls, type DashboardCall } from '#contract/dashboard.ts'
import type { Filter } from '#contract/kind.ts'
import { MAX_FILTER_LENGTH } from '#contract/list-filter.ts'
import { operations, type Operation } from '#contract/operations.ts'
import type { TSchema } from '#contract/schema.ts'
import { singletons, type Singleton } from '#contract/singletons.ts'
import { DROPPED, streams, type Stream } from '#contract/streams.ts'

const errorSchema = {
  type: 'object',
  properties: {
    error_code: { type: 'string', description: 'ERR_ADIT_ and a number; absent for plain not-found.' },
    status_code: { type: 'integer' },
    msg: { type: 'string', description: 'What is wrong and what to change.' },
    details: {
      type: 'object',
      properties: { operation_id: { type: 'string' }, field: { type: 'string' } },
      required: ['operation_id'],
    },
  },
  required: ['status_code', 'msg', 'details'],
}

/** Custom keywords that JSON Schema does not have. */
const ownKeywords = new Set(['refusal', 'refusals', 'missing'])

/** The schemas that others refer to by name, in order of first use. */
const named: Record<string, object> = {}

/**
 * A schema for publication: custom keywords removed, named schemas replaced by references. A character has at least one
 * byte, so the byte limit also limits characters; JSON Schema cannot express that other alphabets reach it sooner.
 */
function published(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(published)
  if (typeof schema !== 'object' || schema === null) return schema
  if (!('title' in schema) || typeof schema.title !== 'string') return plainly(schema)
  const { title, description, ...rest } = schema as { title: string; description?: string }
  named[title] ??= plainly(rest)
  return { $ref: `#/components/schemas/${title}`, ...(description !== undefined && { description }) }
}

function plainly(schema: object): object {
  const entries = Object.entries(schema).filter(([name]) => !ownKeywords.has(name))
  return Object.fromEntries(
    entries.map(([name, value]) => [name === 'maxBytes' ? 'maxLength' : name, published(value)]),
  )
}

const json = (schema: TSchema | object) => ({ 'application/json': { schema: published(schema) } })

const refusals = (codes: readonly number[]) =>
  Object.fromEntries(codes.map(code => [code, { $ref: '#/components/responses/Refused' }]))

/** Errors that any request can get: authentication, rate limit, not found, lengths of path and headers, database. */
const always = [400, 401, 403, 404, 414, 429, 431, 503]
const writes = [409, 413, 507]

function refusalsOf({ method, input, kind, does, output }: Operation): readonly number[] {
  return [
    ...always,
    ...(method === 'GET' ? [] : writes),
    ...(input ? [415] : []),
    // An agent that does not execute a command.
    ...('action' in does && kind.live && !output ? [502] : []),
  ]
}

function parametersOf({ params, does, kind }: Operation): object[] {
  const inPath = params.map(name => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
  if (!('verb' in does) || does.verb !== 'list' || kind.key !== 'id') return inPath
  return [
    ...inPath,
    { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 100, default: 100 } },
    {
      name: 'before_id',
      in: 'query',
      description: 'Only resources older than this id.',
      schema: { type: 'string' },
    },
    {
      name: 'filter',
      in: 'query',
      description: 'Only resources for which this CEL expression over `obj` is true.',
      schema: { type: 'string', maxLength: MAX_FILTER_LENGTH },
    },
    ...filterParameters(kind.filters ?? {}),
  ]
}

const filterParameters = (filters: Readonly<Record<string, Filter>>): object[] =>
  Object.entries(filters).map(([name, { doc, moment, values }]) => ({
    name,
    in: 'query',
    description: doc,
    schema: {
      type: 'string',
      ...(moment && { format: 'date-time' }),
      ...(values && { pattern: `^(?:${values.pattern})$` }),
    },
  }))

/** OpenAPI 3.1 has no words for messages of a stream, so their schema is an extension. */
function describeStream(name: string, { summary, event, data, filters }: Stream): object {
  const messages = { [event]: published(data), [DROPPED.event]: published(DROPPED.data) }
  const content = { 'text/event-stream': { schema: { type: 'string' }, 'x-event-data': messages } }
  return {
    operationId: `${name}_stream`,
    tags: [name],
    summary,
    parameters: filterParameters(filters),
    responses: { 200: { description: 'The stream.', content }, ...refusals([...always, 400]) },
  }
}

/** The cookie's name has the prefix __Host- under TLS. */
const cookieScheme = {
  type: 'apiKey',
  in: 'cookie',
  name: 'adit_session',
  description: `A dashboard session. Other methods than GET also need the header ${CSRF_HEADER}.`,
}

function describeDashboardCall(name: string, call: DashboardCall): object {
  const { summary, input, output, status, credential } = call
  const answer = output ? { description: 'Done.', content: json(output) } : { description: 'Done; no body.' }
  return {
    operationId: `dashboard_${name}`,
    tags: ['dashboard'],
    summary,
    security: credential === 'none' ? [] : [{ [credential]: [] }],
    ...(input && { requestBody: { required: true, content: json(input) } }),
    responses: {
      [status]: answer,
      ...refusals([...always, ...(call.method === 'POST' ? writes : []), ...(input ? [415] : [])]),
    },
  }
}

function describe(operation: Operation): object {
  const { id, collection, summary, input, output, status } = operation
  const answer = output ? { description: 'Done.', content: json(output) } : { description: 'Done; no body.' }
  return {
    operationId: id,
    tags: [collection],
    summary,
    parameters: parametersOf(operation),
    ...(input && { requestBody: { required: true, content: json(input.schema) } }),
    responses: { [status]: answer, ...refusals(refusalsOf(operation)) },
  }
}

function describeAll(): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const [name, { method = 'GET', path, summary, output, filters }] of Object.entries<Singleton>(
    singletons,
  )) {
    const responses = { 200: { description: 'Done.', content: json(output) }, ...refusals(always) }
    const parameters = filters && filterParameters(filters)
    paths[path] = {
      [method.toLowerCase()]: { operationId: name, summary, ...(parameters && { parameters }), responses },
    }
  }
  for (const [name, stream] of Object.entries(streams))
    paths[stream.path] = { get: describeStream(name, stream) }
  for (const [name, call] of Object.entries(dashboardCalls))
    paths[call.path] = { [call.method.toLowerCase()]: describeDashboardCall(name, call) }
  for (const operation of operations) {
    const item = (paths[operation.path] ??= {})
    item[operation.method.toLowerCase()] = describe(operation)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Adit management API',
      version: '2',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{ key: [] }, { cookie: [] }],
    paths,
    components: {
      schemas: named,
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'The token of an API key.' },
        cookie: cookieScheme,
      },
      responses: { Refused: { description: 'Error, with the reason.', content: json(errorSchema) } },
    },
  }
}

let described: object | undefined

/** The whole API in OpenAPI 3.1. */
export const openApi = (serverUrl: string): object => ({
  ...(described ??= describeAll()),
  servers: [{ url: serverUrl }],
})
