import { folderOf } from '#agent/files/folder.ts'
import { readTarget } from '#agent/target.ts'
import { AgentError } from '#agent/agent-error.ts'
import { settleAgent } from '#cli/agent/agent-settings.ts'
import { readConfig, type Config } from '#cli/agent/config.ts'
import type { Flags } from '#cli/agent/given-flags.ts'
import { translateFlags } from '#cli/agent/hosted-flags.ts'
import { planOfFlags, withVariables } from '#cli/agent/plan.ts'
import { runAgent } from '#cli/agent/run.ts'
import type { NamedPlan, Plan } from '#cli/agent/tunnel-plan.ts'
import type { TunnelKind } from '#tunnel/tunnel-option.ts'
import { ConfigError, UsageError } from '#cli/failure.ts'

/** The name of a command line's tunnel. */
const COMMAND_LINE = 'command_line'

/** `adit http` and the like: one tunnel, from flags. */
export async function openOne(kind: TunnelKind, target: string, given: Flags): Promise<number> {
  const { flags, notes } = translateFlags(given)
  const plan = planOfFlags(kind, target, flags)
  if (kind === 'tunnel' && plan.labels === undefined) throw new UsageError('--label must be given')
  checkTarget(target, plan)
  return open(flags, readConfig(configsOf(flags), process.env), [{ name: COMMAND_LINE, plan }], notes)
}

/** `adit start`: the tunnels of the file. */
export async function openNamed(names: readonly string[], given: Flags): Promise<number> {
  const { flags, notes } = translateFlags(given)
  const config = readConfig(configsOf(flags), process.env)
  const known = [...config.tunnels.keys()]
  const all = flags.has('--all')
  if (flags.has('--none')) {
    if (all || names.length > 0) throw new UsageError('--none excludes names and --all')
    return open(flags, config, [], notes)
  }
  // The same exit code as for a file that was named.
  if (!config.exists) throw new ConfigError(listed(config, known))
  if (all === names.length > 0)
    throw new UsageError(`name the tunnels, or use --all or --none; ${listed(config, known)}`)
  const unknown = names.find(name => !config.tunnels.has(name))
  if (unknown !== undefined) throw new UsageError(`there is no tunnel "${unknown}"; ${listed(config, known)}`)
  const wanted = all ? known : [...new Set(names)]
  if (wanted.length === 0) throw new UsageError(listed(config, known))
  const plans = wanted.flatMap(name => {
    const tunnel = config.tunnels.get(name)
    const [missing] = tunnel?.missing ?? []
    // A tunnel without one of its rules could be open to everyone.
    if (missing !== undefined) throw new ConfigError(`the tunnel "${name}" cannot be opened: ${missing}`)
    return tunnel === undefined ? [] : [{ name, plan: tunnel.plan }]
  })
  return open(flags, config, plans, notes)
}

/** The given files: the flag may be repeated, and have commas. */
export const configsOf = (flags: Flags): readonly string[] =>
  (flags.get('--config') ?? []).flatMap(each => each.split(',')).filter(each => each !== '')

/** The file that is written to. */
export const configOf = (flags: Flags): string | undefined => configsOf(flags).at(-1)

function open(
  flags: Flags,
  config: Config,
  plans: readonly NamedPlan[],
  notes: readonly string[],
): Promise<number> {
  const settings = settleAgent({ flags, environment: process.env, file: config.settings })
  const complete = plans.map(({ name, plan }) => ({ name, plan: withVariables(plan, process.env) }))
  return runAgent(settings, complete, notes)
}

function listed({ path, exists }: Config, names: readonly string[]): string {
  if (!exists) return `there is no file ${path}; create it with "adit config edit"`
  return names.length === 0 ? `${path} has no tunnels` : `${path} has ${names.join(', ')}`
}

function checkTarget(target: string, { proto }: Plan): void {
  try {
    if (folderOf(target, proto ?? '') === undefined) readTarget(target, proto ?? '')
  } catch (error) {
    throw error instanceof AgentError ? new UsageError(error.message) : error
  }
}
