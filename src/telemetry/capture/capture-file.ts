import { crc32 } from 'node:zlib'
import { MASK } from '#contract/kinds/request-capture.ts'
import type { HttpClientConnection } from '#http/exchange.ts'
import { Fields } from '#http/fields.ts'
import {
  CapturedRequest,
  type CapturedHead,
  type CapturedResponseHead,
} from '#telemetry/capture/captured-request.ts'
import type { RecordedBody } from '#telemetry/capture/recorded-body.ts'
import type { KeptRequest } from '#telemetry/request-log/ring.ts'

/** The format; files of another one are not read. */
const FORMAT = 'adit-capture 1'
const LINE_FEED = 0x0a
const FIRST_LINE = /^(.+) ([0-9a-f]{1,8})$/

interface SavedBody {
  /** How many bytes of the file are its beginning. */
  readonly kept: number
  readonly size: number
  readonly isWhole: boolean
}

type Saved<Head> = Omit<Head, 'fields'> & { readonly fields: string }

/** The second line of a file, in JSON; both bodies follow it. */
interface SavedCapture {
  readonly id: string
  readonly ownerId: string
  readonly replayOf: string | null
  readonly isComplete: boolean
  /** Without the certificate: it was proved to that connection only. */
  readonly client: Omit<HttpClientConnection, 'certificate' | 'onTunnel' | 'since' | 'ja4'>
  readonly head: Saved<CapturedHead>
  readonly responseHead: Saved<CapturedResponseHead> | null
  /** Request headers whose values are not in the file, in lower case. */
  readonly withheld: readonly string[]
  /** Its entry of the request log; files of earlier versions have none. */
  readonly record?: KeptRequest | undefined
  readonly request: SavedBody
  readonly response: SavedBody
}

/** The parts of a file, which has no value of a masked header. */
export function captureFile(captured: CapturedRequest, masked: ReadonlySet<string>): Buffer[] {
  const { id, ownerId, replayOf = null, isComplete, head, responseHead } = captured
  const { ip, port, localIp, localPort, scheme, serverName, tls } = captured.client
  const { method, target, authority, upgrade, framing } = head
  const names = [...head.fields.entries()].map(([name]) => name.toLowerCase())
  const saved: SavedCapture = {
    id,
    ownerId,
    replayOf,
    isComplete,
    client: { ip, port, localIp, localPort, scheme, serverName, ...(tls && { tls }) },
    head: { method, target, authority, upgrade, framing, fields: maskedText(head.fields, masked) },
    responseHead: responseHead
      ? {
          status: responseHead.status,
          reason: responseHead.reason,
          framing: responseHead.framing,
          fields: maskedText(responseHead.fields, masked),
        }
      : null,
    withheld: [...new Set([...captured.withheld, ...names.filter(name => masked.has(name))])],
    record: savedRecord(captured.record),
    request: savedBody(captured.request),
    response: savedBody(captured.response),
  }
  const parts = [
    Buffer.from(`${JSON.stringify(saved)}\n`),
    captured.request.bytes,
    captured.response.bytes,
  ] as const
  return [Buffer.from(`${FORMAT} ${checksum(parts).toString(16)}\n`), ...parts]
}

const checksum = (parts: readonly Buffer[]): number => parts.reduce((sum, part) => crc32(part, sum), 0)

/** Of its route, which requests share, only what is shown. */
function savedRecord(record: KeptRequest | undefined): KeptRequest | undefined {
  if (record?.route === undefined) return record
  const { edgeId, routeId, modules } = record.route
  return { ...record, route: { edgeId, routeId, modules } }
}

const savedBody = ({ bytes, size, isWhole }: RecordedBody): SavedBody => ({
  kept: bytes.length,
  size,
  isWhole,
})

const maskedText = (fields: Fields, masked: ReadonlySet<string>): string =>
  [...fields.entries()]
    .map(([name, value]) => `${name}: ${masked.has(name.toLowerCase()) ? MASK : value}\r\n`)
    .join('')

/** The capture in a file; undefined if the file is damaged, of another format, or of another request. */
export function readCaptureFile(file: Buffer, id: string): CapturedRequest | undefined {
  const first = file.indexOf(LINE_FEED)
  const [, format, sum = ''] = FIRST_LINE.exec(file.toString('latin1', 0, Math.max(first, 0))) ?? []
  const rest = file.subarray(first + 1)
  // With the right sum it is as it was written, so that nothing else needs a check.
  if (format !== FORMAT || crc32(rest) !== Number.parseInt(sum, 16)) return undefined
  const end = rest.indexOf(LINE_FEED)
  const saved = JSON.parse(rest.toString('utf8', 0, end)) as SavedCapture
  return saved.id === id ? capturedOf(saved, rest.subarray(end + 1)) : undefined
}

function capturedOf(saved: SavedCapture, bodies: Buffer): CapturedRequest {
  const { id, ownerId, replayOf, client, head, responseHead, withheld, request, response } = saved
  const captured = new CapturedRequest({
    id,
    ownerId,
    client,
    head: { ...head, fields: new Fields(head.fields) },
    replayOf: replayOf ?? undefined,
    withheld,
  })
  captured.isComplete = saved.isComplete
  captured.record = saved.record
  if (responseHead) captured.respond({ ...responseHead, fields: new Fields(responseHead.fields) })
  captured.request.restore(bodies.subarray(0, request.kept), request)
  captured.response.restore(bodies.subarray(request.kept), response)
  return captured
}
