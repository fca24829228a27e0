import { isUtf8 } from 'node:buffer'
import { MASK, type CapturedRequestView, type CapturedResponseView } from '#contract/kinds/request-capture.ts'
import type { Fields } from '#http/fields.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import type { RecordedBody } from '#telemetry/capture/recorded-body.ts'
import type {
  CapturedHead,
  CapturedRequest,
  CapturedResponseHead,
} from '#telemetry/capture/captured-request.ts'

type ResourceBody = Record<string, unknown>
type Header = CapturedRequestView['headers'][number]

const alwaysMasked = ['authorization', 'cookie', 'proxy-authorization', 'set-cookie']

/** The headers whose values are not shown, in lower case. */
export const maskedNames = ({
  capture_masking: isOn,
  capture_masked_headers: others = [],
}: Pick<GatewayInfo, 'capture_masking' | 'capture_masked_headers'>): ReadonlySet<string> =>
  new Set(isOn ? [...alwaysMasked, ...others] : [])

/** A capture in the form of the management API. */
export function shownCapture(captured: CapturedRequest, masked: ReadonlySet<string>): ResourceBody {
  const { head, responseHead, replayOf } = captured
  const request: CapturedRequestView = {
    method: head.method,
    target: head.target,
    headers: [{ name: 'host', value: head.authority }, ...headersOf(head, masked)],
    ...bodyOf(captured.request, head.fields),
  }
  const response: CapturedResponseView | null = responseHead
    ? {
        status: responseHead.status,
        reason: responseHead.reason,
        headers: headersOf(responseHead, masked),
        ...bodyOf(captured.response, responseHead.fields),
      }
    : null
  const { id, isComplete: complete } = captured
  return { request_id: id, replay_of: replayOf ?? null, complete, request, response }
}

/** The length is part of how a message is framed, and not of its fields. */
function headersOf(
  { fields, framing }: CapturedHead | CapturedResponseHead,
  masked: ReadonlySet<string>,
): Header[] {
  const shown = [...fields.entries()].map(([name, value]) => ({
    name,
    value: masked.has(name.toLowerCase()) ? MASK : value,
  }))
  return framing.kind === 'length'
    ? [...shown, { name: 'content-length', value: String(framing.length) }]
    : shown
}

function bodyOf(
  body: RecordedBody,
  fields: Fields,
): Pick<CapturedRequestView, 'body' | 'body_encoding' | 'body_bytes' | 'truncated'> {
  const { bytes } = body
  const isText = fields.get('content-encoding') === undefined && isUtf8(bytes) && !bytes.includes(0)
  return {
    body: bytes.toString(isText ? 'utf8' : 'base64'),
    body_encoding: isText ? 'text' : 'base64',
    body_bytes: body.size,
    truncated: !body.isWhole,
  }
}
