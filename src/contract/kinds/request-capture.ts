import { flag, integer, line, listOf, nullable, object, oneOf, text, type Static } from '#contract/schema.ts'
import { named, readSchema } from '#contract/shape-schema.ts'
import { computed, input, optional } from '#contract/shape.ts'

const MAX_FIELDS = 200
const MAX_BODY_TEXT = 1_048_576

/** The value that is shown in place of a masked one. */
export const MASK = '[masked]'

const encodings = ['text', 'base64'] as const

const message = {
  headers: listOf(object({ name: line(), value: text() })),
  body: text(),
  body_encoding: oneOf(...encodings),
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
  replay_of: computed(nullable(line()), 'The request that it repeats; null if a client sent it.'),
  complete: computed(flag(false), 'Whether the response has ended completely.'),
  request: computed(
    capturedRequest,
    `What the client sent. Secret headers read ${MASK}. body_bytes counts the whole body; truncated: body is only its beginning.`,
  ),
  response: computed(
    nullable(capturedResponse),
    'What the gateway responded, in the same form; null until there is a response. Content codings such as gzip are not decoded.',
  ),
})

/** Changes to a request that is sent again. What is absent stays as captured. */
export const replayEdits = named('request_replay', {
  via: optional(
    oneOf('edge', 'agent'),
    'edge (default): through the gateway again, with all modules. agent: straight to the backend, without modules.',
  ),
  endpoint_id: optional(
    line({ minLength: 1, maxBytes: 64 }),
    'Another HTTP or HTTPS endpoint to send it to. Members: one of their own.',
  ),
  tunnel_id: optional(
    line({ minLength: 1, maxBytes: 64 }),
    'One tunnel to send it to, straight to its agent and without modules; also a tunnel with labels, or one of a pool. Members: one of their own.',
  ),
  method: optional(line({ minLength: 1, maxBytes: 32 })),
  path: optional(line({ minLength: 1, maxBytes: 8192 }), 'Path and query.'),
  headers: optional(
    listOf(
      object({ name: line({ minLength: 1, maxBytes: 256 }), value: nullable(text({ maxBytes: 16_384 })) }),
      {
        maxItems: MAX_FIELDS,
      },
    ),
    'Replaces all headers of each name given here; null removes them. Others stay, masked ones with their real values, or not at all if the server was restarted since.',
  ),
  body: optional(text({ maxBytes: MAX_BODY_TEXT }), 'The whole body.'),
  body_encoding: optional(oneOf(...encodings), 'How body is written: text (default, UTF-8) or base64.'),
  resign: input(
    flag(false),
    'Sign it again, at the current time, with the secret of the webhook verification of its route. For senders that sign with that secret.',
  ),
})

/** The result of a replay. */
export const replayResult = named('request_replay_result', {
  request_id: computed(line(), 'The new request.'),
  capture: computed(
    readSchema(requestCapture),
    'Its headers and bodies, to compare with those of the first.',
  ),
})

interface Ended {
  readonly captured: boolean
  readonly replay_of: string | null
  readonly failed: string | null
  readonly status: number
}

/** Whether it is one of the failed requests to send again. Not a replay: each round would send it again. */
export const isReplayable = ({ captured, replay_of: original, failed, status }: Ended): boolean =>
  captured && original === null && (failed !== null || status >= 500)
