import { isSeq, type Pair } from 'yaml'
import { agentSettings } from '#cli/agent/agent-settings.ts'
import { keyOf, pairsOf, plainValue, type ConfigText, type FileValue } from '#cli/agent/config-file.ts'
import { mapOf, unknownKey } from '#cli/agent/config-keys.ts'
import {
  hostedAgentKeys,
  hostedEndpointKeys,
  hostedTunnelKeys,
  type Translation,
} from '#cli/agent/hosted-keys.ts'
import { optionRows, tunnelKeys } from '#tunnel/tunnel-options.ts'
import { ConfigError } from '#cli/failure.ts'

const hostedVersions: readonly string[] = ['2', '3']
const DEPTH = 4

/** A tunnel of the hosted agent's file with our keys. */
interface HostedTunnel {
  readonly place: string
  readonly options: ReadonlyMap<string, FileValue>
  /** Why it must not be started as it is. */
  readonly missing: readonly string[]
}

export interface HostedConfig {
  readonly settings: ReadonlyMap<string, FileValue>
  readonly tunnels: ReadonlyMap<string, HostedTunnel>
  /** Parts without an equivalent, with their position. */
  readonly remarks: readonly string[]
}

/** The version of a hosted agent's file; undefined: it is one of ours. */
export function hostedVersion({ document }: ConfigText): string | undefined {
  const pairs = pairsOf(document.contents, document) ?? []
  const version = pairs.find(({ key }) => keyOf(key) === 'version')
  if (version) {
    const text = String(plainValue(version.value, document))
    return hostedVersions.includes(text) ? text : undefined
  }
  // Its first version had no number.
  const isHosted = pairs.some(({ key }) => keyOf(key) in hostedAgentKeys && !(keyOf(key) in agentSettings))
  return isHosted ? '2' : undefined
}

/** Parses a file of the hosted agent. Unknown keys are errors, as there. */
export function readHosted(text: ConfigText): HostedConfig {
  const reader = new HostedReader(text)
  for (const pair of mapOf(text, text.document.contents, 'the file')) reader.top(pair)
  return reader
}

class HostedReader implements HostedConfig {
  readonly settings = new Map<string, FileValue>()
  readonly tunnels = new Map<string, HostedTunnel>()
  readonly remarks: string[] = []
  readonly #text: ConfigText

  constructor(text: ConfigText) {
    this.#text = text
  }

  top(pair: Pair): void {
    const name = keyOf(pair.key)
    if (name === 'version') return
    if (name === 'agent') for (const each of mapOf(this.#text, pair.value, '"agent"')) this.#setting(each)
    else if (name === 'tunnels')
      for (const each of mapOf(this.#text, pair.value, '"tunnels"')) this.#tunnel(each)
    else if (name === 'endpoints') this.#endpoints(pair)
    else this.#setting(pair)
  }

  #setting(pair: Pair): void {
    const name = keyOf(pair.key)
    if (name in agentSettings) {
      this.settings.set(name, this.#value(pair))
      return
    }
    const known = [
      ...Object.keys(hostedAgentKeys),
      ...Object.keys(agentSettings),
      'agent',
      'endpoints',
      'tunnels',
    ]
    const translate = hostedAgentKeys[name] ?? unknownKey(this.#text, pair, known)
    const translation = translate(plainValue(pair.value, this.#text.document))
    const at = this.#text.at(pair.key)
    if ('set' in translation)
      for (const [key, raw] of Object.entries(translation.set)) this.settings.set(key, { raw, at })
    else
      this.remarks.push(
        `${at}: "${name}" ${'ignored' in translation ? translation.ignored : translation.missing}`,
      )
  }

  #tunnel(pair: Pair): void {
    const name = keyOf(pair.key)
    const pairs = mapOf(this.#text, pair.value, `the tunnel "${name}"`)
    this.#add(name, this.#text.at(pair.key), pairs, hostedTunnelKeys)
  }

  #endpoints({ key, value }: Pair): void {
    const { document, at } = this.#text
    if (!isSeq(value)) throw new ConfigError(`${at(value ?? key)}: "endpoints" must be a list`)
    for (const item of value.items) {
      const pairs = mapOf(this.#text, item, 'an endpoint')
      const named = pairs.find(each => keyOf(each.key) === 'name')
      const name = named && plainValue(named.value, document)
      if (typeof name !== 'string' || name === '')
        throw new ConfigError(`${at(item)}: an endpoint must have a "name"`)
      if (this.tunnels.has(name))
        throw new ConfigError(`${at(item)}: "${name}" is already the name of another one`)
      const rest = pairs.filter(each => each !== named)
      this.#add(name, at(item), rest, hostedEndpointKeys, { proto: 'http' })
    }
  }

  #add(
    name: string,
    place: string,
    pairs: readonly Pair[],
    keys: Readonly<Record<string, (raw: unknown) => Translation>>,
    defaults: Readonly<Record<string, unknown>> = {},
  ): void {
    const options = new Map<string, FileValue>(
      Object.entries(defaults).map(([key, raw]) => [key, { raw, at: place }]),
    )
    const missing: string[] = []
    for (const pair of pairs) this.#option(pair, keys, options, missing)
    this.remarks.push(...missing)
    this.tunnels.set(name, { place, options, missing })
  }

  #option(
    pair: Pair,
    keys: Readonly<Record<string, (raw: unknown) => Translation>>,
    options: Map<string, FileValue>,
    missing: string[],
  ): void {
    const name = keyOf(pair.key)
    const { raw, at } = this.#value(pair)
    const isOwn = keys !== hostedEndpointKeys && tunnelKeys.includes(name)
    const known = [...Object.keys(keys), ...(keys === hostedEndpointKeys ? ['name'] : tunnelKeys)]
    const translate = keys[name] ?? (isOwn ? ownOption(name) : unknownKey(this.#text, pair, known))
    const translation = translate(raw)
    if ('set' in translation)
      for (const [key, value] of Object.entries(translation.set)) options.set(key, { raw: value, at })
    else
      missing.push(`${at}: "${name}" ${'missing' in translation ? translation.missing : translation.ignored}`)
  }

  #value({ key, value }: Pair): FileValue {
    const { document, at } = this.#text
    return { raw: plainValue(value, document, DEPTH), at: at(value ?? key) }
  }
}

/** An option with the same name here; nested keys are written with a dot. */
const ownOption =
  (name: string) =>
  (raw: unknown): Translation => {
    const hasParts = optionRows.some(([key]) => key.startsWith(`${name}.`))
    if (!hasParts) return { set: { [name]: raw } }
    const entries = Object.entries((raw ?? {}) as Record<string, unknown>)
    return { set: Object.fromEntries(entries.map(([key, value]) => [`${name}.${key}`, value])) }
  }
