import { isPlainObject } from '#base/plain-object.ts'
import type { ResourceBody } from '#contract/body.ts'
import type { Operation } from '#contract/operations.ts'
import { writtenName } from '#contract/shape-schema.ts'
import type { Field, Shape } from '#contract/shape.ts'

/**
 * Deviations of published clients from the specification. Each has its client and reason here; nothing outside this
 * file knows about a particular client.
 */

const isTypeScriptClient = (userAgent: string): boolean => userAgent.startsWith('ngrok-api-typescript/')
const isPythonClient = (userAgent: string): boolean => userAgent.startsWith('ngrok-api-python/')

/**
 * The TypeScript client parses the body of every response, so an empty one rejects its promise although the request
 * succeeded; the Python client does the same for POST. Both accept 200 and an empty object.
 */
export const wantsBodyInsteadOf204 = (userAgent: string, method: string): boolean =>
  isTypeScriptClient(userAgent) || (isPythonClient(userAgent) && method === 'POST')

/** The Python client sends no body at all for a module or an update without any field. */
export const omitsBody = (userAgent: string, { does, method }: Operation): boolean =>
  isPythonClient(userAgent) && ('module' in does || method === 'PATCH')

/** The TypeScript client pages with `beforeId`: it converts the names in bodies, but not in the query. */
export const queryAliases: ReadonlyMap<string, string> = new Map([['beforeId', 'before_id']])

/** The TypeScript client repeats the path's parameters in the body; they are ignored unless they are fields. */
export function withoutPathParameters(body: ResourceBody, operation: Operation): ResourceBody {
  if (!operation.params.some(name => Object.hasOwn(body, name))) return body
  const fields = new Set(
    Object.entries(operation.input?.shape ?? {}).flatMap(([name, field]) =>
      field.write && (operation.method === 'PATCH' ? field.update : field.create !== 'never')
        ? [writtenName(name, field)]
        : [],
    ),
  )
  return Object.fromEntries(
    Object.entries(body).filter(([name]) => !operation.params.includes(name) || fields.has(name)),
  )
}

const isEmpty = (value: unknown): boolean =>
  value === '' ||
  value === 0 ||
  (typeof value === 'object' && value !== null && Object.keys(value).length === 0)

/**
 * Fields for which the Python client's `update` sends an empty value although its caller gave none, in every release
 * from 0.2.0 to 0.19.0. For all others it sends nothing, so an empty value is intended.
 */
const emptyOnUpdate: Readonly<Record<string, readonly string[] | undefined>> = {
  failover_backends: ['backends'],
  https_edge_routes: ['match_type', 'match', 'description', 'metadata'],
  ip_restrictions: ['ip_policy_ids'],
  static_backends: ['address'],
  tunnel_group_backends: ['labels'],
  weighted_backends: ['backends'],
}

/** The Python client's generator sends every list of objects, even one that its caller omitted. */
function isListOfObjects({ write }: Field): boolean {
  const schema: Described | undefined = write
  return schema?.items?.type === 'object'
}

/** Whether an empty value of this field from the Python client is intended. */
function meansEmpty({ method, collection }: Operation, name: string, field: Field): boolean {
  if (method === 'POST') return field.create !== 'optional'
  if (method === 'PATCH') return !isListOfObjects(field) && !emptyOnUpdate[collection]?.includes(name)
  return true
}

/**
 * The Python client sends "", 0, [] or {} for omitted arguments: on create for all of them, on update for a few, and
 * newer releases for fields that are unknown here.
 */
export function withoutUnset(userAgent: string, operation: Operation, body: ResourceBody): ResourceBody {
  if (!isPythonClient(userAgent)) return body
  const meant = new Set(
    Object.entries(operation.input?.shape ?? {}).flatMap(([name, field]) => {
      const written = writtenName(name, field)
      return meansEmpty(operation, written, field) ? [written] : []
    }),
  )
  return Object.fromEntries(
    Object.entries(body).filter(([name, value]) => meant.has(name) || !isEmpty(value)),
  )
}

/** The TypeScript client and the public OpenAPI document wrap a module in `module`; others send it bare. */
export function unwrappedModule(body: ResourceBody): ResourceBody {
  const inner = body['module']
  return isPlainObject(inner) && Object.keys(body).length === 1 ? { ...inner } : body
}

const capitals = (text: string): string =>
  text.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** `bkdhr_2AbC` arrives as `bkdhr_2_ab_c`; after its prefix an id has no underscore of its own. */
function restoredId(key: string): string {
  const start = key.indexOf('_') + 1
  return key.slice(0, start) + capitals(key.slice(start))
}

/** `X-Foo` arrives as `_x-_foo`. In `team_name` a rewritten key cannot be recognised: it stays. */
const restoredKey = (key: string): string => key.replace(/(?<![a-z0-9_])(?:_+[a-z][a-z0-9]*)+/g, capitals)

interface Described {
  readonly type?: string
  readonly format?: string
  readonly properties?: Readonly<Record<string, Described>>
  readonly items?: Described
}

/** A value with the keys of its maps restored; an object without named properties is a map. */
function restoredValue(schema: Described | undefined, value: unknown): unknown {
  if (Array.isArray(value)) return value.map(item => restoredValue(schema?.items, item))
  if (typeof value !== 'object' || value === null) return value
  const named = schema?.properties
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) =>
      named ? [key, restoredValue(named[key], inner)] : [restoredKey(key), restoredValue(undefined, inner)],
    ),
  )
}

const withRestoredIds = (map: object): ResourceBody =>
  Object.fromEntries(Object.entries(map).map(([key, value]) => [restoredId(key), value]))

/**
 * The TypeScript client rewrites the keys of maps as if they were field names, and sends a Date as `{}`. Only maps are
 * restored: in them, keys are data.
 */
export function restoreMangledKeys(userAgent: string, shape: Shape, body: ResourceBody): ResourceBody {
  if (!isTypeScriptClient(userAgent)) return body
  const mended = { ...body }
  for (const [name, field] of Object.entries(shape)) {
    const key = writtenName(name, field)
    const value = mended[key]
    if (typeof value !== 'object' || value === null) continue
    const schema = (field.write ?? {}) as Described
    if (Array.isArray(value)) mended[key] = restoredValue(schema, value)
    else if (schema.format === 'date-time' && Object.keys(value).length === 0) delete mended[key]
    else if (field.shape) mended[key] = restoreMangledKeys(userAgent, field.shape, value as ResourceBody)
    else if (schema.type === 'object')
      mended[key] = field.target ? withRestoredIds(value) : restoredValue(schema, value)
  }
  return mended
}
