import { fail } from '#base/errors.ts'
import type { Handler } from '#gateway/exchange.ts'
import type { Fields } from '#gateway/http/fields.ts'
import { withFields, withHead } from '#gateway/modules/changed.ts'
import { readModule } from '#gateway/modules/read-module.ts'
import { type JsonObject, list, object, text, texts } from '#tunnel/fields.ts'

type Option = 'RequestHeaders' | 'ResponseHeaders'

const MAX_HEADERS = 100
const MAX_VALUE = 4096
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]{1,255}$/
/** What a field's value may have: visible characters, blanks, and bytes that are not ASCII. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const HOST = /^(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i

/** They say where a message ends, how its connection is used or who sent it: only the gateway says these. */
const untouchable = new Set(
  (
    'connection content-length keep-alive proxy-connection te trailer transfer-encoding upgrade ' +
    'forwarded x-forwarded-for x-forwarded-host x-forwarded-proto'
  ).split(' '),
)

const options = object({
  add: list(text(MAX_VALUE + 256), MAX_HEADERS),
  addParsed: texts(MAX_HEADERS, MAX_VALUE),
  remove: list(text(256), MAX_HEADERS),
})

interface Change {
  readonly added: readonly (readonly [name: string, value: string])[]
  readonly removed: readonly string[]
}

/** Changes what the service behind is sent. */
export function requestHeaders(given: JsonObject): Handler {
  const { added, removed } = changeOf('RequestHeaders', given)
  const host = added.find(([name]) => name === 'host')?.[1]
  const lines = added.filter(([name]) => name !== 'host')
  // What the owner says must not stand beside what a visitor claims under the same name.
  const gone = [...new Set([...removed.filter(name => name !== 'host'), ...lines.map(([name]) => name)])]

  return async (exchange, next) => {
    const fields = changed(exchange.head.fields, { added: lines, removed: gone })
    return next(withHead(exchange, host === undefined ? { fields } : { fields, upstreamHost: host }))
  }
}

/** Changes what the visitor is sent. Here an added field may stand beside one of the service: both are the owner's. */
export function responseHeaders(given: JsonObject): Handler {
  const change = changeOf('ResponseHeaders', given)
  return async (exchange, next) => {
    const reply = await next(exchange)
    return withFields(reply, changed(reply.head.fields, change))
  }
}

const changed = (fields: Fields, { added, removed }: Change): Fields => {
  const rest = removed.reduce((kept, name) => kept.without(name), fields)
  return added.reduce((all, [name, value]) => all.with(name, value), rest)
}

function changeOf(option: Option, given: JsonObject): Change {
  const { add, addParsed, remove } = readModule(option, options, given)
  const lines = [...add.map(line => parted(option, line)), ...Object.entries(addParsed)].map(
    ([name, value]) => [name.trim().toLowerCase(), value.trim()] as const,
  )
  // Some agents send both forms of the same list.
  const added = lines.filter(
    ([name, value], at) => lines.findIndex(([other, same]) => other === name && same === value) === at,
  )
  const removed = remove.map(name => name.trim().toLowerCase())
  for (const name of removed) checkName(option, name)
  for (const [name, value] of added) {
    checkName(option, name)
    checkValue(option, name, value)
  }
  checkHost(option, { added, removed })
  return { added, removed }
}

function parted(option: Option, line: string): [name: string, value: string] {
  const colon = line.indexOf(':')
  if (colon < 1) refuse(option, `"${line}" does not have the form name:value`)
  return [line.slice(0, colon), line.slice(colon + 1)]
}

function checkName(option: Option, name: string): void {
  if (!TOKEN.test(name)) refuse(option, `"${name}" is not the name of a header`)
  if (untouchable.has(name)) refuse(option, `"${name}" is set by the gateway alone`)
}

function checkValue(option: Option, name: string, value: string): void {
  if (!VALUE.test(value)) refuse(option, `the value of "${name}" has a character that headers cannot carry`)
}

function checkHost(option: Option, { added, removed }: Change): void {
  const hosts = added.filter(([name]) => name === 'host')
  const [host] = hosts
  if (option === 'ResponseHeaders' && (host || removed.includes('host')))
    refuse(option, 'an answer has no "host"')
  if (hosts.length > 1) refuse(option, 'a request has one "host"')
  if (host && !HOST.test(host[1])) refuse(option, `"${host[1]}" is not a host`)
  if (!host && removed.includes('host')) refuse(option, '"host" can be removed only when another is added')
}

const refuse = (option: Option, reason: string): never => fail('bind_option', { option, reason })
