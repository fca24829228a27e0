import { inBackground } from '#base/background.ts'
import { fail, Problem } from '#base/errors.ts'
import type { Log } from '#base/log.ts'
import { type Body, bodyOf, noBody } from '#http/body.ts'
import type { Router } from '#gateway/routing/router.ts'
import {
  ClientAbort,
  type Exchange,
  type HttpClientConnection,
  type Observer,
  type Reply,
} from '#http/exchange.ts'
import type { RequestHead } from '#http/head.ts'
import { HttpError } from '#http/http-error.ts'
import { parseRequestHead } from '#http/http1-request-head.ts'
import { isBare } from '#http/http1-serialize.ts'
import { errorReply } from '#http/pages.ts'
import { withPage } from '#http/pages/send-page.ts'
import type { PageTheme } from '#http/pages/theme.ts'
import { RequestContext } from '#http/request-context.ts'
import type { CaptureRecord, ReplayOrder } from '#contract/request-history.ts'
import type { CapturedRequest } from '#telemetry/capture/captured-request.ts'
import type { Captures } from '#telemetry/capture/captures.ts'

interface ReplayOptions {
  readonly captures: Captures
  readonly router: Pick<Router, 'answer' | 'direct'>
  readonly observer: Observer
  readonly log: Log
  /** How error pages look. */
  readonly theme: PageTheme
}

/** The request header that marks a replay; only the gateway sets it. */
const REPLAY_OF = 'adit-replay-of'
const WAIT_MS = 30_000
/** Each holds a body. */
const MAX_REPLAYS = 32
const refusals: ReadonlySet<string> = new Set(['replay_unsigned', 'replay_not_owned'])

/** Sends captured requests again. */
export class RequestReplays {
  readonly #options: ReplayOptions
  #running = 0

  constructor(options: ReplayOptions) {
    this.#options = options
  }

  /** Resolves at the end of the response, or when time is up; undefined if the request is not captured here. */
  async run(order: ReplayOrder): Promise<CaptureRecord | undefined> {
    const { captures } = this.#options
    const captured = captures.get(order.id)
    if (captured === undefined) return undefined
    const exchange = exchangeOf(captured, order)
    if (this.#running >= MAX_REPLAYS) fail('replays_busy', { limit: MAX_REPLAYS })
    this.#running++
    try {
      // Until its route is known, only the owner of the first request may see it.
      captures.begin(exchange, captured.ownerId, order.id)
      await this.#send(exchange, order.tunnelId)
    } catch (error) {
      captures.drop(exchange.context)
      throw error
    } finally {
      this.#running--
    }
    return captures.find(exchange.context.id)
  }

  async #send(exchange: Exchange, tunnelId: string | undefined): Promise<void> {
    const { observer } = this.#options
    const { client, head, context, clientAbort } = exchange
    const { promise: late, resolve } = Promise.withResolvers<'late'>()
    const timer = setTimeout(() => resolve('late'), WAIT_MS)
    try {
      const replying = this.#reply(exchange, tunnelId)
      const reply = await Promise.race([replying, late])
      // What still arrives is not awaited.
      if (reply === 'late')
        void inBackground({ task: 'replays', log: this.#options.log }, async () =>
          (await replying).body.cancel(),
        )
      const given =
        reply === 'late' ? errorReply('upstream_timeout', head, { seconds: WAIT_MS / 1000 }) : reply
      const page = withPage(given, { theme: this.#options.theme, ip: client.ip, context })
      const sent = observer.replied(client, head, page, context)
      observer.ended(context, reply !== 'late' && (await received(sent, head, late)))
    } finally {
      clearTimeout(timer)
      clientAbort.abort()
    }
  }

  async #reply(exchange: Exchange, tunnelId: string | undefined): Promise<Reply> {
    const { router } = this.#options
    try {
      if (tunnelId === undefined) return await router.answer(exchange)
      const tunnel = router.direct(tunnelId)
      if (tunnel === undefined) return errorReply('endpoint_offline', exchange.head)
      exchange.clientAbort.onAbort(() => tunnel.close())
      return await tunnel.answer(exchange)
    } catch (error) {
      // Nothing was sent, and the caller can change the order.
      if (error instanceof Problem && refusals.has(error.code)) throw error
      this.#options.observer.failed(exchange.head, error)
      return errorReply('gateway_fault', exchange.head)
    }
  }
}

/** Reads a response to its end; false if it was truncated, or time was up. */
async function received(
  { head, body }: Reply,
  { method }: RequestHead,
  late: Promise<'late'>,
): Promise<boolean> {
  if (isBare(method, head.status)) {
    body.cancel()
    return true
  }
  const { promise, resolve } = Promise.withResolvers<boolean>()
  body.read({ data: () => undefined, end: () => resolve(true), fail: () => resolve(false) }, false)
  const outcome = await Promise.race([promise, late])
  if (outcome === 'late') body.cancel()
  return outcome === true
}

function exchangeOf(captured: CapturedRequest, order: ReplayOrder): Exchange {
  const { id, client: before } = captured
  const { upgrade: protocol } = captured.head
  if (protocol !== '') fail('replay_upgrade', { id, protocol })
  if (order.body === undefined && !captured.request.isWhole) fail('replay_truncated', { id })
  const bytes = order.body === undefined ? captured.request.bytes : Buffer.from(order.body)
  const head = headOf(captured, order, bytes.length)
  const context = new RequestContext()
  context.connection.skipsModules = order.via === 'agent'
  context.connection.resigns = order.resign
  context.connection.replayOf = id
  context.connection.replayedBy = order.memberId
  context.connection.content = { counted: bytes.length }
  const body: Body = bytes.length === 0 ? { ...noBody, framing: head.framing } : bodyOf(bytes)
  return {
    client: { ...clientAt(before, order, head.host), ip: order.ip, port: 0 },
    head: { ...head, fields: head.fields.with(REPLAY_OF, id) },
    body,
    clientAbort: new ClientAbort(),
    context,
    sendInformational: () => undefined,
  }
}

/** A certificate was proved to its own endpoint only; there it is part of what is repeated. */
function clientAt(
  before: HttpClientConnection,
  { endpoint }: ReplayOrder,
  host: string,
): HttpClientConnection {
  if (endpoint === undefined) return before
  const { certificate: _, ...client } = before
  const { scheme } = endpoint
  return { ...client, scheme, serverName: scheme === 'https' ? host : undefined }
}

/** Parsed like the head of a client, so that changes cannot do more than a client could. */
function headOf(captured: CapturedRequest, order: ReplayOrder, length: number): RequestHead {
  const { id, head: before } = captured
  const authority = order.endpoint?.authority ?? before.authority
  const replaced = order.headers.map(({ name }) => name.toLowerCase())
  let fields = before.fields.withoutAll(['expect', ...captured.withheld, ...replaced])
  const refuse = (reason: string): never => fail('replay_invalid', { id, reason })
  for (const { name, value } of order.headers) {
    if (/[\0\r\n]/.test(name + (value ?? ''))) refuse('a header has a line break')
    if (value !== null) fields = fields.with(name, value)
  }
  const { method = before.method, path = before.target } = order
  const hasBody = length > 0 || before.framing.kind !== 'none'
  const framing = hasBody ? `Content-Length: ${length}\r\n` : ''
  const text = `${method} ${path} HTTP/1.1\r\nHost: ${authority}\r\n${framing}${fields.text}`
  if (/[^\0-\xff]/.test(text)) refuse('it has a character that is not Latin-1')
  const head = parseRequestHead(Buffer.from(text, 'latin1'), text)
  if (head instanceof HttpError) return refuse(String(head.values['reason'] ?? head.code))
  if (head.authority !== authority || head.upgrade !== '') refuse('it must stay at its host and in HTTP')
  return head
}
