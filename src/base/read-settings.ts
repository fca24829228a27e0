import { readFileSync } from 'node:fs'
import { LineCounter, parseDocument } from 'yaml'
import { syntaxProblem } from '#base/yaml-problem.ts'
import { nearest } from '#base/nearest.ts'
import { SettingError } from '#base/setting-values.ts'
import type { Setting } from '#base/settings/setting.ts'
import { settings, type SettingName, type Settings } from '#base/settings.ts'

const names = Object.keys(settings) as SettingName[]
const declared = (name: SettingName): Setting<unknown> => settings[name]
export const flagOf = (name: string): string => `--${name.replaceAll('_', '-')}`
export const variableOf = (name: string): string => `ADIT_${name.toUpperCase()}`

/** Variables that are not settings but allowed: agents are started from the same shell. */
const OTHER_VARIABLES = new Set([
  'ADIT_CONFIG',
  'ADIT_SERVER_ADDR',
  'ADIT_CA_FILE',
  'ADIT_OAUTH_CLIENT_SECRET',
  'ADIT_OIDC_CLIENT_SECRET',
  'ADIT_VERIFY_WEBHOOK_SECRET',
])

function fromEnvironment(environment: NodeJS.ProcessEnv): Map<string, string> {
  const known = new Map(names.map(name => [variableOf(name), name]))
  const found = new Map<string, string>()
  for (const [variable, value] of Object.entries(environment)) {
    if (!variable.startsWith('ADIT_') || OTHER_VARIABLES.has(variable) || value === undefined) continue
    const name = known.get(variable)
    if (name === undefined)
      throw new SettingError(
        `${variable} is not a setting;${meant(variable.slice(5).toLowerCase(), each => variableOf(each))} adit serve --help lists them`,
      )
    found.set(name, value)
  }
  return found
}

/** The most similar setting. */
function meant(name: string, shown: (setting: string) => string): string {
  const found = nearest(name, names)
  return found === undefined ? '' : ` did you mean ${shown(found)}?`
}

function fromFile(path: string): Map<string, string> {
  const lines = new LineCounter()
  const document = parseDocument(readText(path), { uniqueKeys: true, lineCounter: lines })
  const [error] = document.errors
  if (error) throw new SettingError(syntaxProblem(path, error, lines))
  const content: unknown = document.toJS({ maxAliasCount: 0 }) ?? {}
  if (typeof content !== 'object' || Array.isArray(content)) {
    throw new SettingError(`${path}: expected lines of the form "setting: value"`)
  }
  return new Map(
    Object.entries(content as object).map(([name, value]) => [checkedName(name, path), String(value)]),
  )
}

function checkedName(name: string, path: string): string {
  if (names.some(known => known === name)) return name
  throw new SettingError(
    `${path}: "${name}" is not a setting;${meant(name, each => `"${each}"`)} adit serve --help lists them`,
  )
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code, message: reason } = error as NodeJS.ErrnoException
    if (code === 'ENOENT')
      throw new SettingError(`there is no settings file ${path}. Check --config and ADIT_CONFIG`)
    throw new SettingError(`the settings file cannot be read: ${reason}`)
  }
}

/** The description of a setting, with its standard variables. */
export function fullDocOf({ doc, standard = {}, reload }: Setting<unknown>): string {
  const variables = Object.keys(standard)
  const also = variables.length === 0 ? '' : ` Also ${variables.join(', ')}.`
  return `${doc}${also}${reload === true ? ' Reloadable.' : ''}`
}

/** Where the value of a setting comes from. */
interface SettingSource {
  readonly from: 'flag' | 'environment' | 'file' | 'default'
  /** As people write it: a flag, a variable, or a key in a file. */
  readonly origin: string
  readonly text: string
}

/** Of all settings that have a value. */
export type SettingSourceMap = { [Name in SettingName]?: SettingSource }

/** The values of all settings, and their sources. */
export interface SettingsReading {
  readonly settings: Settings
  readonly sources: SettingSourceMap
}

interface Given extends SettingSource {
  readonly read: (text: string) => unknown
}

/** The value of a standard variable, shared by many programs; an empty one counts as absent. */
function fromStandard(name: SettingName, environment: NodeJS.ProcessEnv): Given | undefined {
  for (const [origin, read] of Object.entries(declared(name).standard ?? {})) {
    const text = environment[origin] ?? ''
    if (text !== '') return { from: 'environment', text, origin, read }
  }
  return undefined
}

function valueOf({ text, origin, read }: Given): unknown {
  try {
    return read(text)
  } catch (error) {
    if (!(error instanceof SettingError)) throw error
    throw new SettingError(`${origin} must be ${error.message}`)
  }
}

/** Defaults that depend on other settings. */
export type Defaults = (
  settled: Pick<Settings, 'domain' | 'public_addresses'>,
  isGiven: (name: SettingName) => boolean,
) => Readonly<Partial<Record<SettingName, string>>>

/** Resolves every setting: flag, variable, file, standard variable, default, in this order. */
export function readSettings(
  flags: ReadonlyMap<string, string>,
  environment: NodeJS.ProcessEnv,
  defaults: Defaults = () => ({}),
): Settings {
  return readWithSources(flags, environment, defaults).settings
}

/** The same, with the source of each value. */
export function readWithSources(
  flags: ReadonlyMap<string, string>,
  environment: NodeJS.ProcessEnv,
  defaults: Defaults = () => ({}),
): SettingsReading {
  const path = flags.get('config') ?? environment['ADIT_CONFIG']
  const origins = [
    { from: 'flag', values: flags, label: flagOf },
    { from: 'environment', values: fromEnvironment(environment), label: variableOf },
    {
      from: 'file',
      values: path === undefined ? new Map<string, string>() : fromFile(path),
      label: (name: string) => `"${name}" in ${path ?? ''}`,
    },
  ] as const
  const find = (name: SettingName, others: ReturnType<Defaults> = {}): Given | undefined => {
    const { read, fallback } = declared(name)
    const own = origins.find(({ values }) => values.has(name))
    const text = own?.values.get(name)
    if (own && text !== undefined) return { from: own.from, text, origin: own.label(name), read }
    const usual = others[name] ?? fallback
    return (
      fromStandard(name, environment) ??
      (usual === undefined ? undefined : { from: 'default', text: usual, origin: name, read })
    )
  }
  const settle = (given: Given | undefined): unknown => given && valueOf(given)
  const first = Object.fromEntries(FIRST.map(name => [name, settle(find(name))])) as Parameters<Defaults>[0]
  const others = defaults(first, name => origins.some(({ values }) => values.has(name)))
  const found = names.map(name => [name, find(name, others)] as const)
  return {
    settings: Object.fromEntries(found.map(([name, given]) => [name, settle(given)])) as Settings,
    sources: Object.fromEntries(
      found.flatMap(([name, given]) =>
        given ? [[name, { from: given.from, origin: given.origin, text: given.text }]] : [],
      ),
    ),
  }
}

const FIRST = ['domain', 'public_addresses'] as const
