import type { Framing } from '#http/body.ts'
import { inOnePiece } from '#http/fields.ts'
import { REQUEST_ID, type ResponseHead } from '#http/head.ts'

/** How a response is sent to one client. */
export interface ResponseTransfer {
  readonly version: '1.0' | '1.1'
  readonly keepAlive: boolean
  /** The method was HEAD, or the status has no body: no bytes follow, whatever the framing. */
  readonly bare: boolean
  /** The request id; undefined: none is sent. */
  readonly requestId: string | undefined
}

/** Whether a response to that method has no body. */
export const isBare = (method: string, status: number): boolean =>
  method === 'HEAD' || status === 204 || status === 304

/** The text of a response head, with the empty line. */
export function serializeResponseHead(head: ResponseHead, transfer: ResponseTransfer): string {
  const { requestId } = transfer
  return requestId === undefined
    ? beforeId(head) + afterId(head, transfer)
    : `${beforeId(head)}${REQUEST_ID}: ${requestId}\r\n${afterId(head, transfer)}`
}

const beforeId = ({ status, reason, fields }: ResponseHead): string =>
  `HTTP/1.1 ${status} ${reason}\r\n${fields.text}`

function afterId(head: ResponseHead, transfer: ResponseTransfer): string {
  const framing = transfer.bare ? announcedField(head) : framingField(head.framing, transfer.version)
  return `${framing}${connectionField(transfer)}\r\n`
}

/** The text of a head that is sent again and again. */
export class WrittenHead {
  /** The host for which it is sent so; empty: any that is alone on its site. */
  readonly host: string
  readonly #head: ResponseHead
  readonly #before: string
  readonly #after: string

  /** `sent` is the head as the host may send it. */
  constructor(head: ResponseHead, host: string, sent: ResponseHead, transfer: ResponseTransfer) {
    this.host = host
    this.#head = head
    this.#before = inOnePiece(`${beforeId(sent)}${REQUEST_ID}: `)
    this.#after = inOnePiece(`\r\n${afterId(sent, transfer)}`)
  }

  /** Not of a changed copy, which has this too. */
  isOf(head: ResponseHead): boolean {
    return head === this.#head
  }

  /** For one request. */
  text(requestId: string): string {
    return this.#before + requestId + this.#after
  }
}

/** The text of an interim response, or of a 101. */
export const serializeInformationalHead = ({ status, reason, fields }: ResponseHead): string =>
  `HTTP/1.1 ${status} ${reason}\r\n${fields.text}${status === 101 ? 'Connection: Upgrade\r\n' : ''}\r\n`

/** The framing field, also for requests. */
export function framingField(framing: Framing, version: '1.0' | '1.1'): string {
  if (framing.kind === 'length') return `Content-Length: ${framing.length}\r\n`
  if (framing.kind === 'none') return 'Content-Length: 0\r\n'
  return framing.kind === 'chunked' && version === '1.1' ? 'Transfer-Encoding: chunked\r\n' : ''
}

function announcedField({ status, framing, announcedLength }: ResponseHead): string {
  const length = announcedLength ?? (framing.kind === 'length' ? framing.length : undefined)
  return length === undefined || status === 204 ? '' : `Content-Length: ${length}\r\n`
}

function connectionField({ version, keepAlive }: ResponseTransfer): string {
  if (!keepAlive) return 'Connection: close\r\n'
  return version === '1.0' ? 'Connection: keep-alive\r\n' : ''
}

/** Whether such a body ends only with the connection. */
export const endsWithConnection = (framing: Framing, version: '1.0' | '1.1'): boolean =>
  framing.kind === 'until_close' || (framing.kind === 'chunked' && version === '1.0')
