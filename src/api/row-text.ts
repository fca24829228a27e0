import { hash } from 'node:crypto'
import { hooksOf } from '#api/behaviours/index.ts'
import type { Call } from '#api/call.ts'
import { keepsSecrets } from '#api/records.ts'
import { fieldsOf, isEmpty, mapSecrets, type ResourceBody } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import type { Shape } from '#contract/shape.ts'
import type { Row } from '#store/store.ts'

/**
 * Most kinds are stored as they are returned, except for their URI. For those the text of a row becomes the response
 * without parsing: that halves the cost of a read, and more for a list.
 * A row records its shape: in place of its URI, it has a digest of the shape. A row of another release has another
 * digest, and is decoded field by field.
 */

const digests = new WeakMap<Kind, string | undefined>()

const isKeptAsRead = (shape: Shape): boolean =>
  Object.values(shape).every(
    field =>
      field.read &&
      !field.expand &&
      !field.secret &&
      !field.sensitive &&
      (!field.shape || isKeptAsRead(field.shape)),
  )

function names(shape: Shape): unknown[] {
  return Object.entries(shape).map(([name, field]) => (field.shape ? [name, names(field.shape)] : name))
}

function digestOf(kind: Kind): string | undefined {
  if (digests.has(kind)) return digests.get(kind)
  const plain =
    kind.key === 'id' && !kind.parent && !kind.live && isKeptAsRead(kind.shape) && !hooksOf(kind).view
  const digest = plain ? hash('sha256', JSON.stringify(names(kind.shape)), 'hex').slice(0, 8) : undefined
  digests.set(kind, digest)
  return digest
}

/** The body to store: with exactly the fields of its shape, in order, if responses can be built from it. */
function inWrittenForm(kind: Kind, body: ResourceBody): ResourceBody {
  const digest = digestOf(kind)
  if (digest === undefined) return body
  const written: ResourceBody = {}
  for (const { name, field } of fieldsOf(kind.shape)) {
    const value = name === 'uri' ? digest : (body[name] ?? null)
    if (!field.omitWhenUnset || !isEmpty(value)) written[name] = value
  }
  return written
}

/** Builds responses directly from the text of rows, for kinds where that is possible. */
export function answers(kind: Kind, base: string): (row: Row) => string | undefined {
  const digest = digestOf(kind)
  if (digest === undefined) return () => undefined
  const written = `","uri":"${digest}",`
  const shown = `","uri":${JSON.stringify(`${base}${kind.path}/`).slice(0, -1)}`
  return ({ id, body }) => {
    const start = ID_START + id.length
    if (!body.startsWith(written, start)) return undefined
    return `${body.slice(0, start)}${shown}${id}",${body.slice(start + written.length)}`
  }
}

/** Every row begins with its id. */
const ID_START = '{"id":"'.length

/** The text of a row, with its secrets encrypted. */
export function serialize(kind: Kind, id: string, body: ResourceBody, call: Pick<Call, 'sealer'>): string {
  if (keepsSecrets(kind))
    return JSON.stringify(mapSecrets(kind.shape, body, text => call.sealer.seal(text, id)))
  return JSON.stringify(inWrittenForm(kind, body))
}
