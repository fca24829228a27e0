import { Environment, ParseError, type ASTNode } from '@marcbachmann/cel-js'
import { fail } from '#base/errors.ts'
import * as values from '#contract/list-filter-values.ts'
import type { ListFilterPart, ListFilterValue } from '#contract/list-filter-values.ts'
import type { Shape } from '#contract/shape.ts'

/** More than any reasonable filter has. */
const limits = { maxAstNodes: 500, maxDepth: 32, maxListElements: 200, maxMapEntries: 1, maxCallArguments: 4 }
export const MAX_FILTER_LENGTH = 4096
const MAX_REASON = 300

const environment = new Environment({ limits, unlistedVariablesAreDyn: true })

interface Making {
  readonly shape: Shape
  readonly now: number
  readonly refuse: (at: number | undefined, reason: string) => never
}

/**
 * Parses the `filter` of a list: a CEL expression over `obj`, the resource as returned to callers. Nothing in it
 * repeats work, so evaluation is linear in the filter.
 */
export function listFilter(text: string, shape: Shape, now: number): (resource: unknown) => boolean {
  const refuse = (at: number | undefined, reason: string): never =>
    fail('list_filter', {
      field: 'filter',
      reason: `${at === undefined ? '' : `at character ${at + 1}: `}${reason.slice(0, MAX_REASON)}`,
    })
  if (text.length > MAX_FILTER_LENGTH) refuse(undefined, `it has more than ${MAX_FILTER_LENGTH} characters`)
  const part = partOf(parse(text, refuse), { shape, now, refuse })
  return resource => part(resource) === true
}

function parse(text: string, refuse: Making['refuse']): ASTNode {
  try {
    return environment.parse(text).ast
  } catch (error) {
    if (!(error instanceof ParseError)) throw error
    return refuse(error.range?.start, error.summary)
  }
}

function partOf(node: ASTNode, making: Making): ListFilterPart {
  const part = (each: ASTNode): ListFilterPart => partOf(each, making)
  switch (node.op) {
    case 'value':
      return literal(node.args, node.start, making)
    case 'id':
    case '.':
      return fieldOf(node, making)
    case '==':
    case '!=': {
      const [left, right, isEqual] = [part(node.args[0]), part(node.args[1]), node.op === '==']
      return resource => values.isEqual(left(resource), right(resource)) === isEqual
    }
    case '<':
    case '<=':
    case '>':
    case '>=': {
      const [left, right, order] = [part(node.args[0]), part(node.args[1]), node.op]
      return resource => values.isOrdered(order, left(resource), right(resource))
    }
    case '&&':
    case '||': {
      const [left, right, decisive] = [part(node.args[0]), part(node.args[1]), node.op === '||']
      return resource => ((left(resource) === true) === decisive ? decisive : right(resource) === true)
    }
    case '!_': {
      const negated = part(node.args)
      return resource => negated(resource) !== true
    }
    case 'in':
      return membership(part(node.args[0]), node.args[1], making)
    case 'call':
      return call(node.args, node.start, making)
    case 'rcall':
      return method(node.args, making)
    default:
      return making.refuse(node.start, `${node.op} cannot be used in a list filter`)
  }
}

function literalOf(value: unknown, at: number, { refuse }: Making): ListFilterValue {
  if (typeof value === 'bigint') return Number(value)
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number')
    return value
  return refuse(at, 'the only values are strings in quotes, numbers, true, false and null')
}

function literal(given: unknown, at: number, making: Making): ListFilterPart {
  const value = literalOf(given, at, making)
  return () => value
}

function namesOf(node: ASTNode): string[] {
  const names: string[] = []
  let left = node
  while (left.op === '.') {
    names.unshift(left.args[1])
    left = left.args[0]
  }
  return left.op === 'id' ? [left.args, ...names] : []
}

function fieldOf(node: ASTNode, { shape, refuse }: Making): ListFilterPart {
  const [root, first, ...rest] = namesOf(node)
  if (root !== 'obj' || first === undefined)
    return refuse(node.start, 'a field is written as obj.field, such as obj.description')
  const known = Object.entries(shape).flatMap(([name, field]) => (field.read ? [name] : []))
  if (!known.includes(first))
    return refuse(node.start, `there is no field "${first}"; there are ${known.join(', ')}`)
  return resource => {
    let found = resource
    for (const name of [first, ...rest]) {
      if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return null
      found = (found as Readonly<Record<string, unknown>>)[name]
    }
    return values.valueOf(found)
  }
}

function membership(part: ListFilterPart, list: ASTNode, making: Making): ListFilterPart {
  if (list.op === 'list') {
    const items = list.args.map(({ op, args, start }) =>
      op === 'value'
        ? literalOf(args, start, making)
        : making.refuse(start, 'a list can only contain values'),
    )
    return resource => {
      const value = part(resource)
      return items.some(item => values.isEqual(value, item))
    }
  }
  const among = partOf(list, making)
  return resource => {
    const found = among(resource)
    return Array.isArray(found) && found.includes(part(resource))
  }
}

const functions =
  'supported are size(field), timestamp("2026-01-31T12:00:00Z"), timestamp(time.now) with .add("24h") and .subtract("7d"), and text.startsWith, endsWith, contains("text")'

function call(
  [name, args]: readonly [string, readonly ASTNode[]],
  at: number,
  making: Making,
): ListFilterPart {
  const [only] = args
  if (only === undefined || args.length > 1 || (name !== 'size' && name !== 'timestamp'))
    return making.refuse(at, `"${name}" cannot be called like this; ${functions}`)
  if (name === 'size') {
    const part = partOf(only, making)
    return resource => values.sizeOf(part(resource))
  }
  return timestamp(only, making)
}

function timestamp(node: ASTNode, making: Making): ListFilterPart {
  if (namesOf(node).join('.') === 'time.now') return () => new values.Instant(making.now)
  const text = node.op === 'value' && typeof node.args === 'string' ? node.args : ''
  const moment = values.momentOf(text)
  return moment ? () => moment : making.refuse(node.start, 'timestamp needs an RFC 3339 time, or time.now')
}

function method(
  [name, receiver, args]: readonly [string, ASTNode, readonly ASTNode[]],
  making: Making,
): ListFilterPart {
  const [only] = args
  if (only === undefined || args.length > 1) return making.refuse(receiver.end, functions)
  const part = partOf(receiver, making)
  if (name === 'add' || name === 'subtract') return shifted(part, name === 'add' ? 1 : -1, only, making)
  const ask = values.questions.get(name)
  if (!ask) return making.refuse(receiver.end, `"${name}" cannot be called like this; ${functions}`)
  const argument = partOf(only, making)
  return resource => {
    const [text, other] = [part(resource), argument(resource)]
    return typeof text === 'string' && typeof other === 'string' && ask(text, other)
  }
}

function shifted(
  part: ListFilterPart,
  sign: 1 | -1,
  { op, args, start }: ASTNode,
  making: Making,
): ListFilterPart {
  const length = op === 'value' && typeof args === 'string' ? values.durationOf(args) : undefined
  if (length === undefined) return making.refuse(start, 'a duration is a string such as "90m", "24h" or "7d"')
  return resource => {
    const moment = part(resource)
    return moment instanceof values.Instant ? new values.Instant(moment.at + sign * length) : undefined
  }
}
