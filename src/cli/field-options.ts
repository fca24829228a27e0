import { Option } from 'commander'
import type { Flag, FlagForm } from '#cli/flags.ts'
import { kindNamed } from '#contract/kinds/index.ts'

const placeholders: Readonly<Record<FlagForm, string>> = {
  text: '<text|@file>',
  choice: '<word>',
  number: '<number>',
  switch: '',
  list: '<a,b>',
  map: '<name=value>',
  json: '<json|@file>',
}

const repeated = (text: string, before: readonly string[] = []): string[] => [...before, text]

export const negated = (flag: string): string => flag.replace('--', '--no-')
const isShown = (fallback: unknown): boolean =>
  ['string', 'number', 'boolean'].includes(typeof fallback) && fallback !== ''

function docOf({ schema, required, form, flag, kinds, fallback }: Flag): string {
  const prefixes = kinds.map(name => `${kindNamed(name).prefix ?? ''}_...`)
  return [
    ...(schema.description === undefined ? [] : [schema.description]),
    ...(schema.enum ? [`One of ${schema.enum.join(', ')}.`] : []),
    ...(prefixes.length > 0 ? [`Ids: ${prefixes.join(', ')}`] : []),
    ...(form === 'switch' ? [`${negated(flag)} for false.`] : []),
    ...(required ? ['Required.'] : []),
    ...(isShown(fallback) ? [`Default: ${String(fallback)}.`] : []),
  ].join(' ')
}

/** The options of a body field. */
export function optionsOf(flag: Flag): Option[] {
  const option = new Option(`${flag.flag} ${placeholders[flag.form]}`.trim(), docOf(flag)).helpGroup(
    'Fields:',
  )
  if (flag.form !== 'switch') return [option.argParser(repeated)]
  return [option, new Option(negated(flag.flag)).hideHelp()]
}
