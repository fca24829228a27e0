import { Option } from 'commander'
import { camelCase } from '#base/camel-case.ts'
import { dashed } from '#cli/flags.ts'
import type { Filter } from '#contract/kind.ts'

type Filters = Readonly<Record<string, Filter>>

/** An option for each filter of a list or stream. */
export const filterOptions = (filters: Filters): Option[] =>
  Object.entries(filters).map(
    ([name, { doc, moment }]) => new Option(`--${dashed(name)} <${moment ? 'moment' : 'text'}>`, doc),
  )

/** The filters among the values of a command's options. */
export function filtersIn(filters: Filters, options: object): Record<string, string> {
  const given = new Map<string, unknown>(Object.entries(options))
  return Object.fromEntries(
    Object.keys(filters).flatMap(name => {
      const value = given.get(camelCase(name))
      return typeof value === 'string' ? [[name, value]] : []
    }),
  )
}
