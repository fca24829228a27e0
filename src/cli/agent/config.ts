import type { Pair } from 'yaml'
import { isFolder } from '#agent/files/folder.ts'
import { readTarget } from '#agent/target.ts'
import { agentSettings, settingRows, type AgentSettingName } from '#cli/agent/agent-settings.ts'
import {
  configPath,
  keyOf,
  plainValue,
  readConfigText,
  type ConfigText,
  type FileValue,
} from '#cli/agent/config-file.ts'
import { knownKey, mapOf } from '#cli/agent/config-keys.ts'
import { address } from '#base/value-forms.ts'
import { hostedVersion, readHosted, type HostedConfig } from '#cli/agent/hosted-config.ts'
import { planOf } from '#cli/agent/plan.ts'
import { commandProtos, type Plan } from '#cli/agent/tunnel-plan.ts'
import { type TunnelKind } from '#tunnel/tunnel-option.ts'
import { optionRows, tunnelKeys, tunnelOptions, type OptionKey } from '#tunnel/tunnel-options.ts'
import { ConfigError } from '#cli/failure.ts'

export interface FileTunnel {
  readonly plan: Plan
  /** What was written, by key. */
  readonly options: ReadonlyMap<string, FileValue>
  /** Why it cannot be started as written. */
  readonly missing: readonly string[]
}

/** The agent's file, checked. */
export interface Config {
  readonly path: string
  readonly exists: boolean
  readonly settings: ReadonlyMap<string, FileValue>
  readonly tunnels: ReadonlyMap<string, FileTunnel>
  /** The version, when it is a file of the hosted agent. */
  readonly hosted?: string
  /** Parts of such a file without an equivalent. */
  readonly remarks: readonly string[]
}

const MAX_TUNNELS = 1000
const targetForm = address(
  'port|host:port|url',
  'a port, host:port, a URL without a path, unix:/path or file:///folder',
)
const topKeys = [...settingRows.map(([name]) => name), 'tunnels']

/** Reads the agent's file, or the given ones, which must exist; later ones take precedence. */
export function readConfig(given: readonly string[], environment: NodeJS.ProcessEnv): Config {
  const [first, ...others] = given.map(readNamed)
  if (first === undefined) return readDefault(configPath(environment))
  return others.reduce(
    (merged, next) => ({
      ...next,
      path: `${merged.path}, ${next.path}`,
      settings: new Map([...merged.settings, ...next.settings]),
      tunnels: new Map([...merged.tunnels, ...next.tunnels]),
      remarks: [...merged.remarks, ...next.remarks],
    }),
    first,
  )
}

function readNamed(path: string): Config {
  const text = readConfigText(path)
  if (text !== undefined) return checkConfig(text)
  throw new ConfigError(
    `there is no file ${path}. Check the path after --config, or create it with "adit config edit"`,
  )
}

function readDefault(path: string): Config {
  const text = readConfigText(path)
  if (text !== undefined) return checkConfig(text)
  return { path, exists: false, settings: new Map(), tunnels: new Map(), remarks: [] }
}

export function checkConfig(text: ConfigText): Config {
  const { document, path } = text
  const hosted = hostedVersion(text)
  if (hosted !== undefined) return checkHosted(path, hosted, readHosted(text))
  const settings = new Map<string, FileValue>()
  const tunnels = new Map<string, FileTunnel>()
  for (const pair of mapOf(text, document.contents, 'the file')) {
    const name = knownKey(text, pair, topKeys)
    if (name === 'tunnels') readTunnels(text, pair, tunnels)
    else settings.set(name, readSetting(text, pair, name as AgentSettingName))
  }
  return { path, exists: true, settings, tunnels, remarks: [] }
}

/** The same checks for a file of the hosted agent. */
function checkHosted(path: string, hosted: string, { settings, tunnels, remarks }: HostedConfig): Config {
  for (const [name, { raw, at }] of settings) {
    const { form } = agentSettings[name as AgentSettingName]
    if (form.read(raw) === undefined) throw new ConfigError(`${at}: "${name}" must be ${form.what}`)
  }
  const checked = [...tunnels].map(([name, { place, options, missing }]) => {
    const plan = plannedTunnel(options, new Map(), place)
    return [name, { plan, options, missing }] as const
  })
  return { path, exists: true, settings, tunnels: new Map(checked), hosted, remarks }
}

function readSetting({ document, at }: ConfigText, { key, value }: Pair, name: AgentSettingName): FileValue {
  const raw = plainValue(value, document)
  const { form } = agentSettings[name]
  if (form.read(raw) === undefined)
    throw new ConfigError(`${at(value ?? key)}: "${name}" must be ${form.what}`)
  return { raw, at: at(value) }
}

function readTunnels(text: ConfigText, { value }: Pair, tunnels: Map<string, FileTunnel>): void {
  const pairs = mapOf(text, value, '"tunnels"')
  if (pairs.length > MAX_TUNNELS)
    throw new ConfigError(`${text.at(value)}: a file may have ${MAX_TUNNELS} tunnels`)
  for (const pair of pairs) tunnels.set(keyOf(pair.key), readTunnel(text, pair))
}

function readTunnel(text: ConfigText, tunnel: Pair): FileTunnel {
  const name = keyOf(tunnel.key)
  const options = new Map<string, FileValue>()
  const keys = new Map<string, string>()
  for (const pair of mapOf(text, tunnel.value, `the tunnel "${name}"`)) {
    const key = knownKey(text, pair, tunnelKeys)
    for (const [full, inner] of innerPairs(text, key, pair)) {
      options.set(full, { raw: plainValue(inner.value, text.document), at: text.at(inner.value) })
      keys.set(full, text.at(inner.key))
    }
  }
  return { plan: plannedTunnel(options, keys, text.at(tunnel.key)), options, missing: [] }
}

function plannedTunnel(
  options: ReadonlyMap<string, FileValue>,
  keys: ReadonlyMap<string, string>,
  place: string,
): Plan {
  const kind = kindOf(options, place)
  const raw = new Map(
    [...options].flatMap(([key, value]) => (key in tunnelOptions ? [[key as OptionKey, value.raw]] : [])),
  )
  return planOf(kind, targetOf(options, kind, place), raw, (key, complaint) => {
    // A wrong value is reported at its position, a misplaced option at its name.
    const at = complaint.startsWith('must ') ? options.get(key)?.at : (keys.get(key) ?? options.get(key)?.at)
    throw new ConfigError(`${at ?? place}: "${key}" ${complaint}`)
  })
}

/** A key by itself, or the keys of its map. */
function innerPairs(text: ConfigText, key: string, pair: Pair): [string, Pair][] {
  const inner = optionRows.flatMap(([full]) =>
    full.startsWith(`${key}.`) ? [full.slice(key.length + 1)] : [],
  )
  if (inner.length === 0) return [[key, pair]]
  const pairs = mapOf(text, pair.value, `"${key}"`)
  // An empty "oauth:" must not create an unprotected tunnel.
  if (pairs.length === 0)
    throw new ConfigError(`${text.at(pair.key)}: "${key}" is empty; it may have ${inner.join(', ')}`)
  return pairs.map(each => [`${key}.${knownKey(text, each, inner)}`, each])
}

function kindOf(options: ReadonlyMap<string, FileValue>, place: string): TunnelKind {
  const proto = options.get('proto')
  if (proto === undefined && options.has('labels')) return 'tunnel'
  const kind = commandProtos.find(each => each === proto?.raw)
  if (kind !== undefined) return kind
  const what = `must be one of ${commandProtos.join(', ')}`
  throw new ConfigError(proto ? `${proto.at}: "proto" ${what}` : `${place}: "proto" is missing; it ${what}`)
}

function targetOf(options: ReadonlyMap<string, FileValue>, kind: TunnelKind, place: string): string {
  const addr = options.get('addr')
  if (addr === undefined) throw new ConfigError(`${place}: "addr" is missing; it must be ${targetForm.what}`)
  const text = targetForm.read(addr.raw) ?? ''
  try {
    if (!isFolder(text)) readTarget(text, kind === 'tunnel' ? '' : kind)
    return text
  } catch {
    throw new ConfigError(`${addr.at}: "addr" must be ${targetForm.what}`)
  }
}
