import { STATUS_CODES } from 'node:http'
import type { httpResponseBackend as contract } from '#contract/kinds/backends.ts'
import type { Stored } from '#contract/shape.ts'
import type { Backend, BuildBackend } from '#gateway/backends/backend.ts'
import type { Reply } from '#http/exchange.ts'
import type { SourceRow } from '#registry/records/source.ts'
import { bodyOf, noBody } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import { REQUEST_ID } from '#http/head.ts'
import { allIn, tokenCharacters, valueCharacters } from '#http/http1-characters.ts'

const MEDIA_TYPE = 'text/plain; charset=utf-8'
/**
 * They define where a message ends, how its connection is used or what the gateway decided: only the gateway sets them.
 */
const reserved = new Set(
  (
    'connection content-length keep-alive proxy-authenticate proxy-connection te trailer transfer-encoding upgrade ' +
    `adit-error-code ngrok-error-code ${REQUEST_ID}`
  ).split(' '),
)
const withoutContent = new Set([204, 205, 304])

/** It has no connections, so that all its routes can share it. */
const built = new WeakMap<SourceRow, Backend>()

/** Returns the same response to every request. */
export const httpResponseBackend: BuildBackend = row => {
  const known = built.get(row)
  if (known !== undefined) return known
  const made = responding(row)
  built.set(row, made)
  return made
}

function responding({ id, body }: SourceRow): Backend {
  const { status_code: status, headers, body: text } = body as Stored<typeof contract.shape>
  const bytes = withoutContent.has(status) ? Buffer.alloc(0) : Buffer.from(text)
  const fields = fieldsOf(headers ?? {}, !withoutContent.has(status))
  const whole = replyWith(status, fields, bytes)
  const head: Reply = {
    head: { ...whole.head, framing: noBody.framing, announcedLength: bytes.length },
    body: noBody,
  }
  return {
    answer: async exchange => {
      exchange.context.upstream.backendId = id
      exchange.context.upstream.tunnel = undefined
      exchange.context.upstream.reused = undefined
      return exchange.head.method === 'HEAD' && !withoutContent.has(status) ? head : whole
    },
    dial: undefined,
    close: () => undefined,
  }
}

function replyWith(status: number, fields: Fields, bytes: Buffer): Reply {
  const body = withoutContent.has(status) && status !== 205 ? noBody : bodyOf(bytes)
  return { head: { status, reason: STATUS_CODES[status] ?? '', framing: body.framing, fields }, body }
}

function fieldsOf(headers: Readonly<Record<string, string>>, hasContent: boolean): Fields {
  const lines = Object.entries(headers)
    // Heads are written one byte per character; other characters are sent as UTF-8.
    .map(([name, value]) => [name, Buffer.from(value).toString('latin1').trim()] as const)
    .filter(([name, value]) => isToken(name) && allIn(valueCharacters, value, 0, value.length))
    .filter(([name]) => !reserved.has(name.toLowerCase()))
    .map(([name, value]) => `${name}: ${value}\r\n`)
  const fields = new Fields(lines.join(''))
  const isTyped = !hasContent || fields.get('content-type') !== undefined
  return isTyped ? fields : fields.with('Content-Type', MEDIA_TYPE)
}

const isToken = (name: string): boolean => name !== '' && allIn(tokenCharacters, name, 0, name.length)
