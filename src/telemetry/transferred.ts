import type { RequestContext } from '#http/request-context.ts'

/** Bytes of the request body, or from the client after an upgrade. */
export const bytesReceived = ({ upgraded, content }: RequestContext): number =>
  upgraded?.received ?? content?.counted ?? 0

/** Bytes of the response body, or to the client after an upgrade. A body in memory is sent as a whole. */
export function bytesSent({ upgraded, answer }: RequestContext): number {
  if (upgraded !== undefined) return upgraded.sent
  if (answer === undefined) return 0
  return answer.counted ?? (answer.framing.kind === 'length' ? answer.framing.length : 0)
}
