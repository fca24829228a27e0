import type { Call } from '#api/call.ts'
import type { ProxyFields } from '#base/trusted-proxies.ts'
import type { Body } from '#http/body.ts'
import type { Exchange } from '#http/exchange.ts'
import { Fields } from '#http/fields.ts'
import type { ResponseHead } from '#http/head.ts'

/** Values by name in lower case; several lines of one name are one list. */
export type RequestHeaders = Readonly<Record<string, string | undefined>>

/** The header fields of a request, and what was found out about them. */
interface KnownFields {
  readonly fields: Fields
  readonly host: string
  readonly values: RequestHeaders
  /** The last call with these fields that was admitted; written by admission. */
  admitted: Call | undefined
}

const CONTINUE: ResponseHead = {
  status: 100,
  reason: 'Continue',
  framing: { kind: 'none' },
  fields: Fields.none,
}

/** One HTTP request to the API. */
export class ApiRequest {
  readonly method: string
  /** Path and query. */
  readonly url: string
  /** Host and port as the client wrote them; empty if an HTTP/1.0 client named none. */
  readonly host: string
  readonly known: KnownFields
  /** The client has sent it to the HTTPS listener of the gateway of this server. */
  readonly isViaGateway: boolean
  readonly #exchange: Exchange

  constructor(exchange: Exchange, known: KnownFields, isViaGateway: boolean) {
    const { method, target, authority } = exchange.head
    this.method = method
    this.url = target
    this.host = authority
    this.known = known
    this.isViaGateway = isViaGateway
    this.#exchange = exchange
  }

  get headers(): RequestHeaders {
    return this.known.values
  }

  get body(): Body {
    return this.#exchange.body
  }

  /** The address of the other end of the connection; empty for the gateway. */
  get peer(): string {
    return this.#exchange.client.ip
  }

  /** What proxies state about the client. */
  get proxyFields(): ProxyFields | undefined {
    return this.#exchange.head.proxyFields
  }

  /** Asks a client that waits for it to send the body. */
  askForBody(): void {
    const { head, sendInformational } = this.#exchange
    if (head.expectsContinue) sendInformational(CONTINUE)
  }
}

/** The requests of one connection: clients repeat their fields, and then these are parsed and checked once. */
export class ConnectionRequests {
  readonly #isGateway: boolean
  #last: KnownFields | undefined

  /** The gateway of this server is the other end. */
  constructor(isGateway: boolean) {
    this.#isGateway = isGateway
  }

  of(exchange: Exchange): ApiRequest {
    const { fields, authority: host } = exchange.head
    let known = this.#last
    // Without a body, those that are repeated are the same object.
    const isKnown = known?.host === host && (known.fields === fields || known.fields.text === fields.text)
    if (known === undefined || !isKnown)
      this.#last = known = { fields, host, values: valuesOf(fields), admitted: undefined }
    return new ApiRequest(exchange, known, this.#isGateway)
  }
}

function valuesOf(fields: Fields): RequestHeaders {
  // A client may name a field like a property of every object.
  const values: Record<string, string | undefined> = Object.create(null)
  for (const [written, value] of fields.entries()) {
    const name = written.toLowerCase()
    const before = values[name]
    values[name] = before === undefined ? value : `${before}${name === 'cookie' ? '; ' : ', '}${value}`
  }
  return values
}
