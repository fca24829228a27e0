import type { Body } from '#contract/body.ts'
import type { Operation } from '#contract/operations.ts'
import { writtenName, type Shape } from '#contract/shape.ts'

/**
 * What published clients of this API do that the specification does not ask for. Each has its client and its
 * reason here; nothing outside this file knows about a particular client.
 */

const isTypeScriptClient = (userAgent: string): boolean => userAgent.startsWith('ngrok-api-typescript/')
const isPythonClient = (userAgent: string): boolean => userAgent.startsWith('ngrok-api-python/')

/**
 * The TypeScript client parses the body of every answer, so an empty one rejects its promise although the call
 * worked; the Python client does the same for POST. Both are content with 200 and an empty object.
 */
export const wantsBodyInsteadOf204 = (userAgent: string, method: string): boolean =>
  isTypeScriptClient(userAgent) || (isPythonClient(userAgent) && method === 'POST')

/** The TypeScript client pages with `beforeId`: it converts the names in bodies, but not in the query. */
export const queryAliases: ReadonlyMap<string, string> = new Map([['beforeId', 'before_id']])

/** The TypeScript client repeats the path's parameters in the body; they are ignored unless they are fields. */
export function withoutPathParameters(body: Body, operation: Operation): Body {
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

/** The TypeScript client and the public OpenAPI document wrap a module in `module`; others send it bare. */
export function unwrappedModule(body: Body): Body {
  const inner = body['module']
  return typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? { ...inner } : body
}

/** `X-Foo` arrives as `_x-_foo`, `bkdhr_2AbC` as `bkdhr_2_ab_c`: an underscore before each capital. */
function recapitalised(key: string): string {
  const prefix = /^(?:[a-z]+_)?/.exec(key)?.[0] ?? ''
  return prefix + key.slice(prefix.length).replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/**
 * The TypeScript client rewrites the keys of maps as if they were field names, and sends a Date as `{}`.
 * Only maps are mended: in them, keys are data.
 */
export function mendedBody(userAgent: string, shape: Shape, body: Body): Body {
  if (!isTypeScriptClient(userAgent)) return body
  const mended = { ...body }
  for (const [name, field] of Object.entries(shape)) {
    const key = writtenName(name, field)
    const value = mended[key]
    if (typeof value !== 'object' || value === null || Array.isArray(value)) continue
    const schema = (field.write ?? {}) as { type?: string; format?: string }
    if (schema.format === 'date-time' && Object.keys(value).length === 0) delete mended[key]
    else if (field.shape) mended[key] = mendedBody(userAgent, field.shape, value as Body)
    else if (schema.type === 'object') mended[key] = withKeys(value as Body, recapitalised)
  }
  return mended
}

const withKeys = (map: Body, change: (key: string) => string): Body =>
  Object.fromEntries(Object.entries(map).map(([key, value]) => [change(key), value]))
