import { ArgumentError } from '#client/errors.ts'
import type { Page, PageRequest } from '#client/types.ts'
import type { Send } from '#client/send.ts'
import type { Operation } from '#contract/operations.ts'

/** An untyped client method: the path's parameters, then the body or the page options. */
export type ClientMethod = (...args: readonly unknown[]) => Promise<unknown>

/** Puts values in place of the path's parameters. */
function filled(operation: Operation, args: readonly unknown[]): string {
  return operation.params.reduce(
    (path, name, at) => path.replace(`{${name}}`, segment(name, args[at])),
    operation.path,
  )
}

function segment(name: string, value: unknown): string {
  // An empty or dotted segment would change the URL.
  if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) {
    throw new ArgumentError(`${name} must be an id, not ${JSON.stringify(value)}`)
  }
  return encodeURIComponent(value)
}

/** The parameters that have a value. */
export function queryOf(page: unknown): URLSearchParams {
  const given = Object.entries((page ?? {}) as PageRequest).filter(([, value]) => value !== undefined)
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
}

/**
 * The options of the next page, if there is one. Only the query of the URL is used: its host may be the API's public
 * name, which the caller may be unable to reach and to which the token was not addressed.
 */
function following(uri: unknown): Pick<Page<unknown>, 'next'> {
  const query = typeof uri === 'string' ? URL.parse(uri)?.searchParams : undefined
  const before = query?.get('before_id')
  if (!query || !before) return {}
  const { limit, ...rest } = Object.fromEntries(query)
  return { next: { ...rest, before_id: before, ...(limit !== undefined && { limit: Number(limit) }) } }
}

function pageOf(operation: Operation, answer: unknown): Page<unknown> {
  const body = { ...(answer as object) } as Record<string, unknown>
  const items = body[operation.kind.listKey]
  return { items: Array.isArray(items) ? items : [], ...following(body['next_page_uri']) }
}

export const isList = ({ does }: Operation): boolean =>
  'verb' in does && !('module' in does) && does.verb === 'list'

export function methodOf(operation: Operation, send: Send): ClientMethod {
  const { method, params } = operation
  if (isList(operation)) {
    return async (...args) =>
      pageOf(
        operation,
        await send({ method, path: filled(operation, args), query: queryOf(args[params.length]) }),
      )
  }
  return async (...args) =>
    send({
      method,
      path: filled(operation, args),
      ...(operation.input && { body: args[params.length] ?? {} }),
    })
}

/** Iterates over all pages of a list, fetching the next only when it is needed. */
export async function* allPages(
  list: ClientMethod,
  args: readonly unknown[],
  page: PageRequest = {},
): AsyncGenerator {
  let request: PageRequest | undefined = page
  while (request) {
    const { items, next } = (await list(...args, request)) as Page<unknown>
    yield* items
    request = next
  }
}
