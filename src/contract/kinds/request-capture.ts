import { flag, integer, line, listOf, nullable, object, oneOf, text, type Static } from '#contract/schema.ts'
import { named } from '#contract/shape-schema.ts'
import { computed } from '#contract/shape.ts'

/** The value that is shown in place of a masked one. */
export const MASK = '[masked]'

const message = {
  headers: listOf(object({ name: line(), value: text() })),
  body: text(),
  body_encoding: oneOf('text', 'base64'),
  body_bytes: integer(0, Number.MAX_SAFE_INTEGER),
  truncated: flag(false),
}

const capturedRequest = object({ method: line(), target: text(), ...message })
const capturedResponse = object({ status: integer(100, 999), reason: text(), ...message })

export type CapturedRequestView = Static<typeof capturedRequest>
export type CapturedResponseView = Static<typeof capturedResponse>

/** The headers and bodies of one request, as the client sent and received them. */
export const requestCapture = named('request_capture', {
  request_id: computed(line()),
  complete: computed(flag(false), 'Whether the response has ended completely.'),
  request: computed(
    capturedRequest,
    `What the client sent. Secret headers read ${MASK}. body_bytes counts the whole body; truncated says that body is only its beginning.`,
  ),
  response: computed(
    nullable(capturedResponse),
    'What the gateway responded, in the same form; null until there is a response. Content codings such as gzip are not decoded.',
  ),
})
