import { fail } from '#base/errors.ts'
import type { Exchange } from '#http/exchange.ts'

/** The base64 size of a message of 256 KiB, with room for escapes and a RelayState. */
const MAX_BYTES = 524_288
const WAIT_MS = 15_000
const TYPE = /^application\/x-www-form-urlencoded *(;|$)/i

/** The fields of a submitted form; throws a Problem when it is invalid, too long or incomplete. */
export async function readForm({ head, body }: Exchange): Promise<URLSearchParams> {
  if (!TYPE.test(head.fields.get('content-type') ?? ''))
    fail('saml_unreadable', { reason: 'it is not a form' })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const parts: Buffer[] = []
  let length = 0
  const timer = setTimeout(() => reject(new Error('the form did not arrive in time')), WAIT_MS)
  body.read(
    {
      data: bytes => {
        length += bytes.length
        if (length > MAX_BYTES) reject(new Error('the form is too long'))
        else parts.push(Buffer.from(bytes))
      },
      end: () => resolve(Buffer.concat(parts).toString('latin1')),
      fail: reject,
    },
    false,
  )
  try {
    return new URLSearchParams(await promise)
  } catch (error) {
    body.cancel()
    return fail('saml_unreadable', { reason: error instanceof Error ? error.message : 'it was truncated' })
  } finally {
    clearTimeout(timer)
  }
}

/** The only value of a name; undefined when there is none. Two parsers could read two values differently. */
export function single(parameters: URLSearchParams, name: string): string | undefined {
  const [value, second] = parameters.getAll(name)
  return second === undefined ? value : fail('saml_unreadable', { reason: `it has ${name} twice` })
}
