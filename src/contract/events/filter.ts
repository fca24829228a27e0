import { Environment, ParseError, type ParseResult } from '@marcbachmann/cel-js'
import { fail } from '#base/errors.ts'
import { fieldNamed, filterableNames, refuseFieldName, trafficTypes } from '#contract/events/field-names.ts'
import type { EventFilterPart, EventFilterValue } from '#contract/events/filter-logic.ts'
import { filterBudget, partOf } from '#contract/events/filter-parts.ts'
import type { TrafficType } from '#contract/events/traffic-fields.ts'

/** Selects events of a type. */
export interface EventFilter {
  /** The fields that it uses. */
  readonly fields: ReadonlySet<string>
  /** Whether it is true for the `object` of an event; undecidable counts as false. */
  matches(object: unknown): boolean
}

/** More than any reasonable filter has. */
const limits = {
  maxAstNodes: 1000,
  maxDepth: 32,
  maxListElements: 500,
  maxMapEntries: 1,
  maxCallArguments: 8,
}

interface Types {
  [name: string]: string | Types
}

/** `ev` has exactly the filterable fields. */
function environmentOf(type: TrafficType): Environment {
  const schema: Types = {}
  for (const name of filterableNames(type)) {
    const groups = name.split('.')
    const last = groups.pop() ?? name
    let types = schema
    for (const group of groups) types = (types[group] ??= {}) as Types
    types[last] = fieldNamed(type, name)?.type === 'number' ? 'int' : 'string'
  }
  return new Environment({ limits }).registerVariable({ name: 'ev', schema })
}

const environments = new Map(trafficTypes.map(type => [type, environmentOf(type)]))

/** Reads the value at a dotted name inside an object. */
export function valueAt(name: string): (object: unknown) => unknown {
  const names = name.split('.')
  return object => {
    let value = object
    for (const key of names) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
      value = (value as Readonly<Record<string, unknown>>)[key]
    }
    return value
  }
}

function fieldPart(name: string, isNumber: boolean): EventFilterPart {
  const read = valueAt(name)
  return object => {
    const value = read(object)
    return typeof value === (isNumber ? 'number' : 'string') ? (value as EventFilterValue) : undefined
  }
}

const MAX_REASON = 300

/** Parses a filter for events of this type; `field` is where the caller wrote it, for the error. */
export function eventFilter(type: TrafficType, text: string, field = 'filter'): EventFilter {
  const refuse = (at: number | undefined, reason: string): never =>
    fail('source_filter', {
      field,
      reason: `${at === undefined ? '' : `at character ${at + 1}: `}${reason.slice(0, MAX_REASON)}`,
    })
  const parsed = parse(type, text, refuse)
  const fields = new Set<string>()
  const names = filterableNames(type).join(', ')
  const part = partOf(parsed.ast, {
    refuse,
    patterns: filterBudget(),
    field: name => {
      const found = fieldNamed(type, name) ?? refuseFieldName(type, name, field, names)
      if (!found.filter) fail('source_field_unfilterable', { field, value: name, type, names })
      fields.add(name)
      return fieldPart(name, found.type === 'number')
    },
  })
  // Types are checked last: the checker would also accept constructs that filters may not use.
  const { error, type: result } = parsed.check()
  if (error) refuse(error.range?.start, error.summary)
  if (result !== 'bool') refuse(undefined, `it is of type ${result ?? 'unknown'}, not true or false`)
  return { fields, matches: object => part(object) === true }
}

function parse(
  type: TrafficType,
  text: string,
  refuse: (at: number | undefined, reason: string) => never,
): ParseResult {
  const environment = environments.get(type)
  if (!environment) throw new Error(`nothing filters ${type}`)
  try {
    return environment.parse(text)
  } catch (error) {
    if (!(error instanceof ParseError)) throw error
    return refuse(error.range?.start, inWords(error))
  }
}

/** Maps the parser's names to those of the user. */
const tokens: Readonly<Record<string, string>> = {
  EOF: 'the end',
  IDENTIFIER: 'a name',
  LPAREN: '(',
  RPAREN: ')',
  LBRACKET: '[',
  RBRACKET: ']',
  LBRACE: '{',
  RBRACE: '}',
  EQ: '==',
  NE: '!=',
  AND: '&&',
  OR: '||',
  DOT: '.',
  COMMA: ',',
  COLON: ':',
  QUESTION: '?',
}

function inWords({ code, summary }: ParseError): string {
  if (code === 'limit_exceeded') return 'it is too long or too deeply nested'
  if (code !== 'expected_token' && code !== 'unexpected_token') return summary
  return summary.replace(/\b[A-Z]{2,}\b/g, token => tokens[token] ?? token.toLowerCase())
}
