import { fail } from '#base/errors.ts'
import type { Exchange } from '#http/exchange.ts'

/** What a message of 256 KiB takes in base64, with room for escapes and a RelayState. */
const MAX_BYTES = 524_288
const WAIT_MS = 15_000
const TYPE = /^application\/x-www-form-urlencoded *(;|$)/i

/** The fields of a form that was sent; throws a Problem when it is none, too long, or does not come to its end. */
export async function readForm({ head, body }: Exchange): Promise<URLSearchParams> {
  if (!TYPE.test(head.fields.get('content-type') ?? ''))
    fail('saml_unreadable', { reason: 'it is not a form' })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const parts: Buffer[] = []
  let length = 0
  const timer = setTimeout(() => reject(new Error('the form did not come in time')), WAIT_MS)
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
    return fail('saml_unreadable', { reason: error instanceof Error ? error.message : 'it was cut off' })
  } finally {
    clearTimeout(timer)
  }
}

/** The one value under a name; undefined when there is none. Two could be read differently by two readers. */
export function single(parameters: URLSearchParams, name: string): string | undefined {
  const [value, second] = parameters.getAll(name)
  return second === undefined ? value : fail('saml_unreadable', { reason: `it has ${name} twice` })
}
