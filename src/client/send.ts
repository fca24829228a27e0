import { ApiError, UnreachableError } from '#client/errors.ts'
import type { HttpMethod } from '#contract/operations.ts'

export interface ClientOptions {
  /** URL of the API, such as `http://127.0.0.1:4600`. */
  readonly url: string
  /** The token of an API key; absent in a browser, which sends its session cookie. */
  readonly token?: string
  /** Further headers of each request. */
  readonly headers?: () => Readonly<Record<string, string>>
  readonly fetch?: typeof globalThis.fetch
  /** Timeout of one request, including its response. */
  readonly timeoutMs?: number
}

interface ApiRequest {
  readonly method: HttpMethod
  readonly path: string
  readonly query?: URLSearchParams
  readonly body?: unknown
}

/** Sends one request and resolves to the response body, undefined when it has none. */
export type Send = (message: ApiRequest) => Promise<unknown>

const DEFAULT_TIMEOUT_MS = 30_000

export function sender(options: ClientOptions): Send {
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options
  const base = baseOf(options.url)
  const fetch = options.fetch ?? globalThis.fetch

  return async ({ method, path, query, body }) => {
    const request = {
      method,
      headers: {
        ...headersFor(options),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      // A redirect would turn a POST into a GET; the URL is wrong and the caller should know.
      redirect: 'error' as const,
      signal: AbortSignal.timeout(timeoutMs),
    }
    try {
      const response = await fetch(base + path + searchOf(query), request)
      return answerOf(response, await response.text())
    } catch (error) {
      if (error instanceof ApiError) throw error
      throw new UnreachableError(`no answer from ${base}: ${reasonOf(error, timeoutMs)}`, { cause: error })
    }
  }
}

/** Opens a stream, which has no timeout. */
export type StreamSend = (
  path: string,
  query: URLSearchParams,
  signal: AbortSignal | undefined,
) => Promise<Response>

export function streamSender(options: ClientOptions): StreamSend {
  const base = baseOf(options.url)
  const fetch = options.fetch ?? globalThis.fetch
  return async (path, query, signal) => {
    const headers = { ...headersFor(options), accept: 'text/event-stream' }
    try {
      return await fetch(base + path + searchOf(query), {
        headers,
        redirect: 'error',
        signal: signal ?? null,
      })
    } catch (error) {
      throw new UnreachableError(`no answer from ${base}: ${reasonOf(error, 0)}`, { cause: error })
    }
  }
}

const baseOf = (url: string): string => url.replace(/\/+$/, '')

const headersFor = ({ token, headers }: ClientOptions): Record<string, string> => ({
  ...(token !== undefined && { authorization: `Bearer ${token}` }),
  'adit-version': '2',
  ...headers?.(),
})

const searchOf = (query: URLSearchParams | undefined): string =>
  query && query.size > 0 ? `?${query.toString()}` : ''

function answerOf(response: Response, text: string): unknown {
  const body = text === '' ? undefined : parsed(text)
  if (response.ok && (text === '' || body !== undefined)) return body
  throw responseError(response, text)
}

/** The error of a response. */
export function responseError(response: Response, text: string): ApiError {
  const body = parsed(text)
  const { error_code: code, msg, details } = partsOf(body)
  const { operation_id: operationId, field } = partsOf(details)
  return new ApiError(
    typeof msg === 'string' ? msg : `The response (status ${response.status}) is not the API's.`,
    {
      status: response.status,
      code,
      operationId: operationId ?? response.headers.get('adit-operation-id'),
      field,
    },
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

const partsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return `nothing came within ${timeoutMs / 1000} s`
  // fetch reports only "fetch failed"; the reason is in the cause, and in its parts if several addresses were tried.
  const causes = error.cause instanceof AggregateError ? (error.cause.errors as unknown[]) : [error.cause]
  const messages = causes.flatMap(cause => (cause instanceof Error ? [cause.message] : []))
  return messages.join(', ') || error.message
}
