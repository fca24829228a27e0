import { negated } from '#cli/field-options.ts'
import { dashed, flagsOf, type Flag } from '#cli/flags.ts'
import type { Kind } from '#contract/kind.ts'
import { kindNamed, kinds } from '#contract/kinds/index.ts'
import { isList } from '#client/method.ts'
import type { Operation } from '#contract/operations.ts'
import { actionExamples, exampleId, examples } from '#reference/examples.ts'

type ExampleBody = Readonly<Record<string, unknown>>

const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

const writeFlag = ({ flag, form, field }: Flag, value: unknown): string => {
  if (form === 'switch') return value === true ? flag : negated(flag)
  if (field.endsWith('_pem')) return `${flag} @${dashed(field).replace(/-pem$/, '.pem')}`
  if (Array.isArray(value) && form === 'list') return `${flag} ${quoted(value.join(','))}`
  if (form === 'map') {
    return Object.entries(value as object)
      .map(([name, inner]) => `${flag} ${quoted(`${name}=${String(inner)}`)}`)
      .join(' ')
  }
  return `${flag} ${quoted(form === 'json' ? JSON.stringify(value) : String(value))}`
}

/** The reference's example body of the kind, or its part for a module. */
function exampleBody({ collection, does }: Operation): ExampleBody {
  const bodies: Readonly<Record<string, ExampleBody | undefined>> = examples
  if ('action' in does) return actionExamples[`${collection}_${does.action}`] ?? {}
  if (!('module' in does)) return bodies[collection] ?? {}
  const found = Object.values(bodies).find(body => body?.[does.module] !== undefined)
  return (found?.[does.module] ?? {}) as ExampleBody
}

/** A change is shown with one field. */
function flagsFor(operation: Operation): string[] {
  const body = exampleBody(operation)
  const given = flagsOf(operation).filter(({ field }) => body[field] !== undefined)
  const shown = operation.word === 'update' ? given.slice(0, 1) : given
  return shown.map(flag => writeFlag(flag, body[flag.field]))
}

const parentOf = (kind: Kind): Kind => (kind.parent ? kindNamed(kind.parent.kind) : kind)

function idsFor({ params, kind }: Operation): string[] {
  return params.map(param => {
    if (param === 'type') return 'ip_policy_created.v0'
    return exampleId((param === 'id' ? kind : parentOf(kind)).prefix ?? '')
  })
}

/** A command line that a person can adapt. */
export function exampleOf(operation: Operation): string {
  const words = ['adit api', dashed(operation.collection), dashed(operation.word)]
  const extra = isList(operation) ? ['--output table'] : flagsFor(operation)
  return [...words, ...idsFor(operation), ...extra].join(' ')
}

/** The resource that a path parameter names. */
export function paramDoc(operation: Operation, param: string): string {
  const kind = param === 'id' || param === operation.kind.key ? operation.kind : parentOf(operation.kind)
  const name = kind.name.replaceAll('_', ' ')
  return kind.prefix === undefined ? `The ${param} of the ${name}.` : `The ${name}, ${kind.prefix}_...`
}

export const collectionDoc = (collection: string): string =>
  Object.entries(kinds).find(([name]) => name === collection)?.[1].doc ?? ''
