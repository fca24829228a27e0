import type { ASTNode } from '@marcbachmann/cel-js'
import { goRegex } from '#base/go-regex.ts'
import { PatternBudget } from '#base/regex/pattern-budget.ts'
import * as logic from '#contract/events/filter-logic.ts'
import type { EventFilterPart, EventFilterValue } from '#contract/events/filter-logic.ts'

/** The context in which the parts of one filter are compiled. */
interface Making {
  /** Returns the reader of a field by its dotted name, or rejects the name. */
  readonly field: (name: string) => EventFilterPart
  /** Rejects the filter at this position. */
  readonly refuse: (at: number, reason: string) => never
  /** For all patterns of this filter together. */
  readonly patterns: PatternBudget
}

/** The longest name is matched in about a millisecond at worst. */
export const filterBudget = (): PatternBudget => new PatternBudget(512)
/** Longer than any address or host name. */
const MAX_MATCHED = 255

/**
 * Compiles the syntax tree of a filter. Only what is listed here is supported. Nothing repeats or multiplies work, as
 * CEL's macros, splitting and binding could: evaluation is linear in the filter.
 */
export function partOf(node: ASTNode, making: Making): EventFilterPart {
  const part = (each: ASTNode): EventFilterPart => partOf(each, making)
  switch (node.op) {
    case 'value':
      return literal(node.args, node.start, making)
    case 'id':
    case '.':
      return fieldOf(node, making)
    case '==':
    case '!=':
      return logic.equality(node.op === '==', part(node.args[0]), part(node.args[1]))
    case '<':
    case '<=':
    case '>':
    case '>=':
      return logic.comparison(node.op, part(node.args[0]), part(node.args[1]))
    case '&&':
    case '||':
      return logic.decision(node.op === '||', part(node.args[0]), part(node.args[1]))
    case '!_':
      return logic.negation(part(node.args))
    case '-_':
      return logic.negative(part(node.args))
    case '?:':
      return logic.choice(part(node.args[0]), part(node.args[1]), part(node.args[2]))
    case 'in':
      return membership(part(node.args[0]), node.args[1], making)
    case 'call':
      return call(node.args, node.start, making)
    case 'rcall':
      return method(node.args, making)
    default:
      return making.refuse(node.start, `${signs[node.op] ?? node.op} cannot be used in a filter`)
  }
}

/** The user's spelling of the parser's operator names. */
const signs: Readonly<Record<string, string>> = { list: 'a list without "in"', map: 'a map', '[]': '[ ]' }

function literalValue(value: unknown, at: number, { refuse }: Making): EventFilterValue {
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value !== 'bigint')
    return refuse(at, 'the only values are strings in quotes, integers, true and false')
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : refuse(at, 'the number is too large')
}

function literal(given: unknown, at: number, making: Making): EventFilterPart {
  const value = literalValue(given, at, making)
  return () => value
}

/** The field whose dotted name follows `ev`. */
function fieldOf(node: ASTNode, { field, refuse }: Making): EventFilterPart {
  const names: string[] = []
  let left = node
  while (left.op === '.') {
    names.unshift(left.args[1])
    left = left.args[0]
  }
  if (left.op !== 'id') return refuse(left.start, 'only ev has fields')
  if (left.args !== 'ev') return refuse(left.start, `"${left.args}" is unknown; every field begins with ev`)
  if (names.length === 0)
    return refuse(left.start, 'ev must be followed by a field, as in ev.conn.server_port')
  return field(names.join('.'))
}

function membership(part: EventFilterPart, list: ASTNode, making: Making): EventFilterPart {
  if (list.op !== 'list') return making.refuse(list.start, '"in" needs a list, such as [80, 443]')
  const values = list.args.map(({ op, args, start }) =>
    op === 'value'
      ? literalValue(args, start, making)
      : making.refuse(start, 'a list can only contain strings in quotes and integers'),
  )
  return logic.membership(part, new Set(values))
}

const noFunction = (name: string, at: number, { refuse }: Making): never =>
  refuse(
    at,
    `"${name}" is not a function for its arguments; supported are has(field), size(text) and text.startsWith, endsWith, contains, matches(text)`,
  )

function call(
  [name, args]: readonly [string, readonly ASTNode[]],
  at: number,
  making: Making,
): EventFilterPart {
  const [only] = args
  if (only === undefined || args.length > 1) return noFunction(name, at, making)
  if (name === 'has') return logic.presence(fieldOf(only, making))
  return name === 'size' ? logic.size(partOf(only, making)) : noFunction(name, at, making)
}

function method(
  [name, receiver, args]: readonly [string, ASTNode, readonly ASTNode[]],
  making: Making,
): EventFilterPart {
  const [only] = args
  const answer = Object.hasOwn(logic.questions, name) ? logic.questions[name] : undefined
  if (only === undefined && name === 'size') return logic.size(partOf(receiver, making))
  if (only === undefined || args.length > 1 || !(answer || name === 'matches'))
    return noFunction(name, receiver.end, making)
  const text = partOf(receiver, making)
  return answer ? logic.question(answer, text, partOf(only, making)) : matching(text, only, making)
}

/** Compiled once, and never by JavaScript's own engine, which some patterns block. */
function matching(text: EventFilterPart, { op, args, start }: ASTNode, making: Making): EventFilterPart {
  if (op !== 'value' || typeof args !== 'string')
    return making.refuse(start, 'the pattern for matches must be a string in quotes')
  const pattern = goRegex(args, making.patterns)
  if ('reason' in pattern)
    return making.refuse(
      start,
      pattern.isTooLarge ? pattern.reason : `not a regular expression: ${pattern.reason}`,
    )
  return logic.matching(text, pattern, MAX_MATCHED)
}
