import { hash } from 'node:crypto'
import { behaviourOf } from '#api/behaviours/index.ts'
import type { Call } from '#api/call.ts'
import { keepsSecrets } from '#api/records.ts'
import { mapSecrets, type Body } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import type { Shape } from '#contract/shape.ts'
import type { Row } from '#store/store.ts'

/**
 * Most kinds are kept just as they are read, but for their address. For those the text of a row becomes the
 * text of an answer without being parsed: that halves the cost of a read, and more than that of a list.
 *
 * A row says in which shape it was written: where its address will stand, it holds a digest of the shape. A
 * row of another release has another digest, and is read the long way.
 */

const digests = new WeakMap<Kind, string | undefined>()

const isKeptAsRead = (shape: Shape): boolean =>
  Object.values(shape).every(
    field => field.read && !field.expand && !field.secret && (!field.shape || isKeptAsRead(field.shape)),
  )

function names(shape: Shape): unknown[] {
  return Object.entries(shape).map(([name, field]) => (field.shape ? [name, names(field.shape)] : name))
}

function digestOf(kind: Kind): string | undefined {
  if (digests.has(kind)) return digests.get(kind)
  const plain =
    kind.key === 'id' && !kind.parent && !kind.live && isKeptAsRead(kind.shape) && !behaviourOf(kind).view
  const digest = plain ? hash('sha256', JSON.stringify(names(kind.shape)), 'hex').slice(0, 8) : undefined
  digests.set(kind, digest)
  return digest
}

/** The body to keep: with exactly the fields of its shape, in their order, if answers can be made from it. */
function inWrittenForm(kind: Kind, body: Body): Body {
  const digest = digestOf(kind)
  if (digest === undefined) return body
  return Object.fromEntries(
    Object.keys(kind.shape).map(name => [name, name === 'uri' ? digest : (body[name] ?? null)]),
  )
}

/** The answer that shows a row, if it can be made from its text. */
export function answerFrom(kind: Kind, row: Row, base: string): string | undefined {
  const digest = digestOf(kind)
  if (digest === undefined) return undefined
  const head = `{"id":"${row.id}","uri":"${digest}",`
  if (!row.body.startsWith(head)) return undefined
  return `{"id":"${row.id}","uri":${JSON.stringify(`${base}${kind.path}/${row.id}`)},${row.body.slice(head.length)}`
}

/** The text of a row, its secrets sealed. */
export function close(kind: Kind, id: string, body: Body, call: Pick<Call, 'sealer'>): string {
  if (keepsSecrets(kind))
    return JSON.stringify(mapSecrets(kind.shape, body, text => call.sealer.seal(text, id)))
  return JSON.stringify(inWrittenForm(kind, body))
}
