import { isPlainObject } from '#base/plain-object.ts'
import { hostedTunnelKeys } from '#cli/agent/hosted-keys.ts'
import { tunnelOptions, type OptionKey } from '#tunnel/tunnel-options.ts'

/** An option that has no equivalent, or does not exist. */
export class OptionError extends Error {
  override readonly name = 'OptionError'
}

/** Keys that wrappers send and that mean nothing to a tunnel. */
const ignored = new Set([
  'authtoken',
  'binPath',
  'configPath',
  'host',
  'name',
  'onLogEvent',
  'onStatusChange',
  'onTerminated',
  'path',
  'port',
  'region',
  'web_addr',
])

/** Keys of old wrappers for the same thing. */
const synonyms: Readonly<Record<string, string>> = { httpauth: 'auth' }

/** Tunnel options in the hosted agent's form, by Adit's keys. */
export function hostedOptions(given: Readonly<Record<string, unknown>>): Map<OptionKey, unknown> {
  const options = new Map<OptionKey, unknown>()
  for (const [key, value] of Object.entries(given)) {
    // An absent value is often sent as null.
    if (value === null || ignored.has(key)) continue
    for (const [own, each] of Object.entries(translated(synonyms[key] ?? key, value)))
      options.set(knownKey(own), own === 'inspect' ? flagOf(each) : each)
  }
  return options
}

const flagOf = (value: unknown): unknown => (value === 'true' ? true : value === 'false' ? false : value)

function translated(key: string, value: unknown): Readonly<Record<string, unknown>> {
  const translate = Object.hasOwn(hostedTunnelKeys, key) ? hostedTunnelKeys[key] : undefined
  if (translate) {
    const result = translate(value)
    if ('missing' in result) throw new OptionError(`field ${key} ${result.missing}`)
    return 'set' in result ? result.set : {}
  }
  const isGroup = Object.keys(tunnelOptions).some(each => each.startsWith(`${key}.`))
  if (!isGroup || !isPlainObject(value)) return { [key]: value }
  return Object.fromEntries(Object.entries(value).map(([inner, each]) => [`${key}.${inner}`, each]))
}

function knownKey(key: string): OptionKey {
  if (Object.hasOwn(tunnelOptions, key)) return key as OptionKey
  throw new OptionError(`field ${key.slice(0, 100)} not found in type config.HTTPv2Tunnel`)
}
