import type { Kind, Verb } from '#contract/kind.ts'
import { kinds } from '#contract/kinds/index.ts'
import { toSentence } from '#contract/names.ts'
import { line, listOf, nullable, object, type TSchema } from '#contract/schema.ts'
import { readSchema, writeSchema } from '#contract/shape-schema.ts'
import type { Shape } from '#contract/shape.ts'

export type HttpMethod = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

/** One API operation, derived from a kind. */
export interface Operation {
  /** `<collection>_<action>`, unique. */
  readonly id: string
  readonly collection: string
  readonly kind: Kind
  readonly does:
    | { readonly verb: Verb }
    | { readonly module: string; readonly verb: 'replace' | 'get' | 'delete' }
    | { readonly action: string }
  /** Its name in the client and on the command line. */
  readonly word: string
  readonly method: HttpMethod
  readonly path: string
  /** Names of the path's parameters, in order. */
  readonly params: readonly string[]
  readonly summary: string
  /** The fields and schema of the body; absent where no body is read. */
  readonly input?: { readonly shape: Shape; readonly schema: TSchema }
  readonly status: 200 | 201 | 204
  readonly output?: TSchema
}

const paramsOf = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(match => String(match[1]))

export const isPaged = (kind: Kind): boolean => kind.key === 'id'

function listSchema(kind: Kind): TSchema {
  const items = { [kind.listKey]: listOf(readSchema(kind.shape)), uri: line() }
  return object(isPaged(kind) ? { ...items, next_page_uri: nullable(line()) } : items)
}

const phrase = (name: string): string => name.replaceAll('_', ' ')
const article = (name: string): string => (/^[aeiou]/.test(name) ? 'an' : 'a')

function verbOperation(collection: string, kind: Kind, verb: Verb): Operation {
  const one = `${article(kind.name)} ${phrase(kind.name)}`
  const item = `${kind.path}/{${kind.key}}`
  const resource = readSchema(kind.shape)
  const details: Record<
    Verb,
    Pick<Operation, 'method' | 'path' | 'summary' | 'status' | 'input' | 'output'>
  > = {
    create: {
      method: 'POST',
      path: kind.path,
      summary: toSentence(`Make ${one}.`),
      status: 201,
      ...body(kind, 'create'),
      output: resource,
    },
    get: { method: 'GET', path: item, summary: toSentence(`Read ${one}.`), status: 200, output: resource },
    list: {
      method: 'GET',
      path: kind.path,
      summary: toSentence(`List ${phrase(collection)}, newest first.`),
      status: 200,
      output: listSchema(kind),
    },
    update: {
      method: 'PATCH',
      path: item,
      summary: toSentence(`Change ${one}; other fields stay the same.`),
      status: 200,
      ...body(kind, 'update'),
      output: resource,
    },
    delete: { method: 'DELETE', path: item, summary: toSentence(`Remove ${one}.`), status: 204 },
  }
  const detail = details[verb]
  return {
    id: `${collection}_${verb}`,
    collection,
    kind,
    does: { verb },
    word: verb,
    params: paramsOf(detail.path),
    ...detail,
  }
}

function body(kind: Kind, verb: 'create' | 'update'): Pick<Operation, 'input'> {
  return { input: { shape: kind.shape, schema: writeSchema(kind.shape, verb) } }
}

function moduleOperations(collection: string, kind: Kind, name: string): Operation[] {
  const shape = kind.modules[name]?.shape ?? {}
  const path = `${kind.path}/{id}/${name}`
  const common = { collection, kind, path, params: paramsOf(path) }
  const of = `the ${phrase(name)} module of ${article(kind.name)} ${phrase(kind.name)}`
  const operation = (verb: 'replace' | 'get' | 'delete') => ({
    ...common,
    id: `${collection}_${verb}_${name}`,
    word: `${verb}_${name}`,
    does: { module: name, verb },
  })
  const output = readSchema(shape)
  return [
    {
      ...operation('replace'),
      method: 'PUT',
      summary: toSentence(`Set ${of}, replacing it whole.`),
      status: 200,
      input: { shape, schema: writeSchema(shape, 'create') },
      output,
    },
    { ...operation('get'), method: 'GET', summary: toSentence(`Read ${of}.`), status: 200, output },
    { ...operation('delete'), method: 'DELETE', summary: toSentence(`Remove ${of}.`), status: 204 },
  ]
}

function actionOperation(collection: string, kind: Kind, name: string): Operation {
  const action = kind.actions[name]
  if (!action) throw new Error(`${kind.name} has no action ${name}`)
  const path = `${kind.path}${action.onCollection ? '' : '/{id}'}${action.path}`
  const { input: shape, output } = action
  return {
    id: `${collection}_${name}`,
    collection,
    kind,
    does: { action: name },
    word: name,
    method: action.method,
    path,
    params: paramsOf(path),
    summary: action.doc,
    ...(shape && { input: { shape, schema: writeSchema(shape, 'create') } }),
    ...(output && { output }),
    status: output ? 200 : 204,
  }
}

/** All operations of one kind. */
export const operationsOf = (collection: string, kind: Kind): Operation[] => [
  ...kind.verbs.map(verb => verbOperation(collection, kind, verb)),
  ...Object.keys(kind.modules).flatMap(name => moduleOperations(collection, kind, name)),
  ...Object.keys(kind.actions).map(name => actionOperation(collection, kind, name)),
]

/** All operations. */
export const operations: readonly Operation[] = Object.entries(kinds).flatMap(([collection, kind]) =>
  operationsOf(collection, kind),
)
