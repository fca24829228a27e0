import { newOperationId } from '#api/operation-ids.ts'
import { problemBody } from '#api/problems.ts'
import { dateLine, textBody } from '#api/reply.ts'
import { Problem } from '#base/errors.ts'
import { STATUS_CODES } from 'node:http'
import type { Reply } from '#http/exchange.ts'
import { Fields } from '#http/fields.ts'
import type { HttpError } from '#http/http-error.ts'

/** The API error of what the HTTP server rejects before it is a request. */
function problemOf({ code, values }: HttpError): Problem {
  switch (code) {
    case 'head_too_large':
      return new Problem('headers_too_large', {})
    case 'target_too_long':
      return new Problem('path_too_long', { limit: Number(values['limit']) })
    case 'expectation_failed':
    case 'request_timeout':
      return new Problem(code, {})
    case 'version_unsupported':
      return new Problem('bad_request', { reason: 'its version is neither HTTP/1.0 nor HTTP/1.1' })
    case 'coding_unsupported':
      return new Problem('bad_request', { reason: 'the only transfer coding is chunked' })
    case 'bad_message':
      return new Problem('bad_request', { reason: String(values['reason']) })
    default:
      return new Problem('internal', {})
  }
}

/** Responds to invalid HTTP with an API error. */
export function malformedReply(error: HttpError): Reply {
  const operationId = newOperationId()
  const problem = problemOf(error)
  const { status } = problem
  const body = textBody(problemBody(problem, 'ADIT', operationId))
  const fields = new Fields(
    `adit-operation-id: ${operationId}\r\ncache-control: no-store\r\ncontent-type: application/json\r\n${dateLine()}`,
  )
  return { head: { status, reason: STATUS_CODES[status] ?? '', framing: body.framing, fields }, body }
}
