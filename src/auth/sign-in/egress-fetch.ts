import type { Egress } from '#base/egress.ts'

/** Provider responses are short; more is a mistake or an attack. */
const MAX_BYTES = 262_144
const TIMEOUT_MS = 10_000
const withoutContent = new Set([204, 205, 304])

interface FetchOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export type EgressFetch = (url: string, options?: FetchOptions) => Promise<Response>

/** The egress client as a `fetch` for libraries. It has already followed redirects, by its own rules. */
export const egressFetch =
  (egress: Egress): EgressFetch =>
  async (url, { method = 'GET', headers = {}, body } = {}) => {
    const answer = await egress.request(url, {
      method,
      headers,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      ...(body !== undefined && body !== null && { body: contentOf(body) }),
    })
    const content = withoutContent.has(answer.status) ? null : new Uint8Array(answer.body)
    return new Response(content, { status: answer.status, headers: answer.headers })
  }

function contentOf(body: unknown): string | Buffer {
  if (typeof body === 'string') return body
  if (body instanceof URLSearchParams) return body.toString()
  if (body instanceof Uint8Array) return Buffer.from(body)
  throw new TypeError('Only strings, forms and bytes can be sent.')
}
