import { text as readAll } from 'node:stream/consumers'
import { AgentError } from '#agent/agent-error.ts'
import { readEndpoint } from '#agent/endpoint.ts'
import { writeSetting } from '#cli/agent/config-edit.ts'
import { agentSettings, settingRows, settleAgent } from '#cli/agent/agent-settings.ts'
import { configPath } from '#cli/agent/config-file.ts'
import { readConfig, type FileTunnel } from '#cli/agent/config.ts'
import type { Flags } from '#cli/agent/given-flags.ts'
import { configOf, configsOf } from '#cli/agent/open.ts'
import { endpointsOf } from '#cli/agent/plan.ts'
import { tunnelOptions } from '#tunnel/tunnel-options.ts'
import { ConfigError, UsageError } from '#cli/failure.ts'
import { printable, printableJson } from '#cli/printable.ts'

const MASK = '********'

export const printPath = (): void => void process.stdout.write(`${configPath(process.env)}\n`)

/** `adit config check`: all checks that need no gateway. */
export function check(file: string | undefined): void {
  const path = file ?? configPath(process.env)
  const { tunnels, remarks } = readConfig([path], process.env)
  for (const [name, { plan, options }] of tunnels) checkEndpoints(name, options.get('addr')?.at ?? path, plan)
  const count = tunnels.size === 1 ? 'one tunnel' : `${tunnels.size} tunnels`
  // Programs look for the first words, which are those of the hosted agent.
  process.stdout.write(`Valid configuration file at ${printable(path)}: ${count}\n`)
  for (const remark of remarks) process.stdout.write(`  ${printable(remark)}\n`)
}

/** Reads the files that options name, such as certificates. */
function checkEndpoints(name: string, at: string, plan: FileTunnel['plan']): void {
  try {
    for (const endpoint of endpointsOf(plan, false)) readEndpoint(endpoint)
  } catch (error) {
    if (error instanceof AgentError) throw new ConfigError(`${at}: the tunnel "${name}": ${error.message}`)
    throw error
  }
}

interface Shown {
  readonly value: unknown
  readonly origin: string
}

/** `adit config show`: effective values and their source, without secrets. */
export function show(flags: Flags): void {
  const config = readConfig(configsOf(flags), process.env)
  const settled = settleAgent({ flags, environment: process.env, file: config.settings })
  const settings = settingRows.flatMap(([name]): [string, Shown][] => {
    const found = settled[name]
    if (found === undefined) return []
    const value = 'secret' in agentSettings[name] ? MASK : found.value
    return [[name, { value, origin: found.origin ?? 'default' }]]
  })
  const tunnels = [...config.tunnels].map(([name, tunnel]) => [name, shownTunnel(tunnel)] as const)
  const { path, exists } = config
  process.stdout.write(
    flags.has('--json')
      ? `${printableJson(JSON.stringify({ path, exists, settings: Object.fromEntries(settings), tunnels: Object.fromEntries(tunnels) }, null, 2))}\n`
      : printable(`# ${path}${exists ? '' : ' (not found)'}\n${textOf(settings, '')}${tunnelsText(tunnels)}`),
  )
}

function shownTunnel({ options }: FileTunnel): Record<string, Shown> {
  const shown = [...options].map(([key, { raw, at }]) => {
    const isSecret = 'secret' in (tunnelOptions[key as keyof typeof tunnelOptions] ?? {})
    return [key, { value: isSecret ? MASK : raw, origin: at }] as const
  })
  return Object.fromEntries(shown)
}

const textOf = (values: Iterable<readonly [string, Shown]>, indent: string): string =>
  Array.from(values, ([name, { value, origin }]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return `${indent}${name}: ${text}  # ${origin}\n`
  }).join('')

const tunnelsText = (tunnels: readonly (readonly [string, Record<string, Shown>])[]): string =>
  tunnels.length === 0
    ? ''
    : `tunnels:\n${tunnels.map(([name, options]) => `  ${name}:\n${textOf(Object.entries(options), '    ')}`).join('')}`

/** `adit config add-authtoken`: from the command line, or from standard input for `-`. */
export async function keepAuthtoken(given: string, flags: Flags): Promise<void> {
  const token = given === '-' ? (await readAll(process.stdin)).trim() : given
  const { form } = agentSettings.authtoken
  if (form.read(token) === undefined) throw new UsageError(`the authtoken must be ${form.what}`)
  const path = configOf(flags) ?? configPath(process.env)
  writeSetting(path, 'authtoken', token)
  // Wrappers of the hosted agent look for these words.
  process.stdout.write(`Authtoken saved to configuration file: ${printable(path)}\n`)
}

/** `adit config add-server-addr`. */
export function keepServer(given: string, flags: Flags): void {
  const { form } = agentSettings.server
  const server = form.read(given)
  if (server === undefined) throw new UsageError(`the address of the gateway must be ${form.what}`)
  const path = configOf(flags) ?? configPath(process.env)
  writeSetting(path, 'server', server)
  process.stdout.write(`Server address saved to configuration file: ${printable(path)}\n`)
}
