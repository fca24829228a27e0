import { fail } from '#base/errors.ts'
import type { HeaderPhase } from '#contract/header-rules.ts'
import type { requestHeaders as contract } from '#contract/modules/headers.ts'
import type { Stored } from '#contract/shape.ts'
import type { Exchange, Handler } from '#http/exchange.ts'
import { Fields, inOnePiece } from '#http/fields.ts'
import type { ResponseHead } from '#http/head.ts'
import { withFields, withHead, withReplyHead } from '#http/changed.ts'
import { checkedChange, type HeaderChange, type RefuseChange } from '#gateway/modules/header-change.ts'
import type { HttpModule } from '#gateway/modules/module.ts'
import { readModule } from '#base/read-module.ts'
import type { Filled } from '#gateway/modules/variables.ts'
import { type JsonObject, list, object, text, texts } from '#base/json-fields.ts'

type Option = 'RequestHeaders' | 'ResponseHeaders'

const MAX_HEADERS = 100
const MAX_VALUE = 4096

const options = object({
  add: list(text(MAX_VALUE + 256), MAX_HEADERS),
  addParsed: texts(MAX_HEADERS, MAX_VALUE),
  remove: list(text(256), MAX_HEADERS),
})

/** Changes the request headers for the service. */
function requestHandler({ added, removed }: HeaderChange): Handler {
  const host = added.find(({ name }) => name === 'host')?.value
  const upstreamHost = typeof host === 'string' ? host : undefined
  const others = added.filter(({ name }) => name !== 'host')
  // The owner's value must not be next to one that the client sent under the same name.
  const gone = [...new Set([...removed.filter(name => name !== 'host'), ...others.map(({ name }) => name)])]
  const prepared = preparedChange(gone, linesOf(others))

  return (exchange, next) => {
    const fields = changed(exchange.head.fields.made(prepared), exchange, 0)
    return next(withHead(exchange, upstreamHost === undefined ? { fields } : { fields, upstreamHost }))
  }
}

/** Changes the response headers. Here an added field may be next to one of the service: both are the owner's. */
function responseHandler({ added, removed }: HeaderChange): Handler {
  const prepared = preparedChange(removed, linesOf(added))
  return (exchange, next) =>
    next(exchange).then(reply => {
      const { head } = reply
      const change = head.fields.made(prepared)
      if (change.fixed === undefined) return withFields(reply, changed(change, exchange, head.status))
      // A head that the service repeats stays one object, whose text is kept when it is sent.
      if (change.from !== head) {
        change.from = head
        change.to = withFields(reply, change.fixed).head
      }
      return change.to === undefined ? reply : withReplyHead(reply, change.to)
    })
}

/** A change of certain fields. */
interface PreparedChange {
  /** What stays. */
  rest: string
  readonly lines: Filled
  /** The result, if it is the same for all requests. */
  readonly fixed: Fields | undefined
  uses: number
  /** The last response head with these fields, and the changed one. */
  from?: ResponseHead
  to?: ResponseHead
}

const preparedChange =
  (removed: readonly string[], lines: string | Filled) =>
  (fields: Fields): PreparedChange => {
    const { text: rest } = fields.withoutAll(removed)
    return typeof lines === 'string'
      ? { rest, lines: () => lines, fixed: new Fields(rest + lines), uses: 0 }
      : { rest, lines, fixed: undefined, uses: 0 }
  }

function changed(change: PreparedChange, exchange: Exchange, status: number): Fields {
  if (change.fixed !== undefined) return change.fixed
  // Only fields that are repeated are worth it.
  if (++change.uses === 2) change.rest = inOnePiece(change.rest)
  return new Fields(change.rest + change.lines(exchange, status))
}

/** The lines of added headers; a function if they have a variable. */
function linesOf(added: HeaderChange['added']): string | Filled {
  const parts = added.map(({ name, value }) =>
    typeof value === 'string' ? `${name}: ${value}\r\n` : { name, value },
  )
  if (parts.every(part => typeof part === 'string')) return parts.join('')
  return (exchange, status) => {
    let lines = ''
    for (const part of parts)
      lines += typeof part === 'string' ? part : `${part.name}: ${part.value(exchange, status)}\r\n`
    return lines
  }
}

function changeOfAgent(option: Option, given: JsonObject): HeaderChange {
  const refuse: RefuseChange = reason => fail('bind_option', { option, reason })
  const { add, addParsed, remove } = readModule(option, options, given)
  const lines = [...add.map(line => parted(line, refuse)), ...Object.entries(addParsed)].map(
    ([name, value]) => [name.trim().toLowerCase(), value.trim()] as const,
  )
  // Some agents send both forms of the same list.
  const added = lines.filter(
    ([name, value], at) => lines.findIndex(([other, same]) => other === name && same === value) === at,
  )
  const removed = remove.map(name => name.trim().toLowerCase())
  return checkedChange({ added, removed }, option === 'RequestHeaders' ? 'request' : 'response', refuse)
}

function parted(line: string, refuse: RefuseChange): [name: string, value: string] {
  const colon = line.indexOf(':')
  if (colon < 1) refuse(`"${line}" is not of the form name:value`)
  return [line.slice(0, colon), line.slice(colon + 1)]
}

function changeOfRecord(module: string, given: JsonObject, phase: HeaderPhase): HeaderChange {
  const { add, remove } = given as Stored<typeof contract.shape>
  const refuse: RefuseChange = reason => fail('module_unusable', { module, reason })
  // Records contain any text; in a head it is sent as UTF-8, one character per byte.
  const added = Object.entries(add).map(
    ([name, value]) => [name.toLowerCase(), Buffer.from(value.trim()).toString('latin1')] as const,
  )
  return checkedChange({ added, removed: remove.map(name => name.toLowerCase()) }, phase, refuse)
}

export const requestHeadersModule: HttpModule = {
  name: 'request_headers',
  fromRecord: given => requestHandler(changeOfRecord('request_headers', given, 'request')),
  fromAgent: {
    options: ['RequestHeaders'],
    build: ({ RequestHeaders }) => requestHandler(changeOfAgent('RequestHeaders', RequestHeaders ?? {})),
  },
}

export const responseHeadersModule: HttpModule = {
  name: 'response_headers',
  fromRecord: given => responseHandler(changeOfRecord('response_headers', given, 'response')),
  fromAgent: {
    options: ['ResponseHeaders'],
    build: ({ ResponseHeaders }) => responseHandler(changeOfAgent('ResponseHeaders', ResponseHeaders ?? {})),
  },
}
