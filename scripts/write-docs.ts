import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { flagOf, fullDocOf, variableOf } from '#base/read-settings.ts'
import type { Setting } from '#base/settings/setting.ts'
import { settings } from '#base/settings.ts'
import { openApi } from '#contract/openapi.ts'
import { EXAMPLE_URL } from '#reference/intro.ts'
import { generated, markdownFiles, markdownTable } from '#reference/markdown.ts'
import { propertyOf } from '#tunnel/option-values.ts'
import { flagsFor, optionRows } from '#tunnel/tunnel-options.ts'

const root = join(import.meta.dirname, '..')
const FOLDER = 'docs/reference'

const all: [string, Setting<unknown>][] = Object.entries(settings)

const settingRows = (part: readonly [string, Setting<unknown>][]): string =>
  markdownTable(
    ['Flag', 'Variable', 'Default', 'Meaning'],
    part.map(([name, spec]) => [
      `\`${flagOf(name)} ${spec.example}\``,
      `\`${variableOf(name)}\``,
      spec.fallback === undefined ? '' : `\`${spec.fallback}\``,
      fullDocOf(spec),
    ]),
  )

const settingsFile = (): string =>
  generated(
    'Settings',
    `Every setting of \`adit serve\` is a flag, an environment variable, or a key of the YAML file that \`--config\` or \`ADIT_CONFIG\` names, in order of precedence. The keys of the file are the flags without leading dashes, with underscores: \`data_dir\`. An unknown setting or an invalid value is an error with exit code 2.

${settingRows(all)}
\`off\` disables a listener.`,
  )

const code = (text: string): string => `\`${text}\``

const tunnelOptionsFile = (): string =>
  generated(
    'Options of tunnels',
    `Every option of [tunnels](../tunnels.md#options-of-tunnels): its flags, its key in the configuration file of the agent, its property in the library, and the kinds of tunnels that have it. A dot stands for a map.

${markdownTable(
  ['Flags', 'Key', 'Property', 'For', 'Meaning'],
  optionRows.map(row => {
    const [key, { doc, kinds, variable }] = row
    return [
      flagsFor(row).map(code).join(', '),
      code(key),
      code(propertyOf(key).join('.')),
      kinds.join(', '),
      variable === undefined ? doc : `${doc} Default: ${code(variable.name)}.`,
    ]
  }),
)}
In the library, \`schemes\` is \`proto\`, and \`crt\` and \`key\` are parts of \`terminate\`. \`mutualTlsCas\` and \`upstreamCas\` may also be PEM text.`,
  )

/** One line per operation: readable diffs without a file five times as long. */
function openApiFile(): string {
  const { paths, ...rest } = openApi(EXAMPLE_URL) as { paths: Record<string, Record<string, object>> }
  const items = Object.entries(paths).map(([path, item]) => {
    const methods = Object.entries(item).map(
      ([method, operation]) => `"${method}":${JSON.stringify(operation)}`,
    )
    return `${JSON.stringify(path)}:{\n${methods.join(',\n')}}`
  })
  return `${JSON.stringify(rest, null, 2).slice(0, -2)},\n"paths":{\n${items.join(',\n')}}}\n`
}

/** Every generated file by its path in the repository. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const files = new Map([...markdownFiles()].map(([name, text]) => [`${FOLDER}/${name}`, text]))
  files.set(`${FOLDER}/settings.md`, settingsFile())
  files.set(`${FOLDER}/tunnel-options.md`, tunnelOptionsFile())
  files.set('docs/openapi.json', openApiFile())
  return files
}

if (import.meta.main) {
  const files = generatedFiles()
  mkdirSync(join(root, FOLDER), { recursive: true })
  for (const old of readdirSync(join(root, FOLDER))) {
    if (!files.has(`${FOLDER}/${old}`)) rmSync(join(root, FOLDER, old))
  }
  for (const [path, text] of files) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  process.stdout.write(`${files.size} files written\n`)
}
