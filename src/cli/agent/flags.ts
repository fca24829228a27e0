import { Option, type Command } from 'commander'
import { settingRows } from '#cli/agent/agent-settings.ts'
import type { TunnelKind } from '#cli/agent/tunnel-option.ts'
import { flagName, optionRows } from '#cli/agent/tunnel-options.ts'

/** What was given for each flag, by its long name. */
export type Flags = ReadonlyMap<string, readonly string[]>

const repeated = (text: string, before: readonly string[] = []): string[] => [...before, text]

/** A flag with a value keeps every value it was given; what that means is for others to say. */
function valued(flag: string, placeholder: string, doc: string): Option {
  const option = new Option(`${flag} ${placeholder}`.trim(), doc)
  return placeholder === '' ? option : option.argParser(repeated)
}

const orVariable = (name: string | undefined): string => (name === undefined ? '' : ` (${name})`)

/** The flags of the agent itself: where the gateway is, who we are, how we tell what happens. */
export function addAgentFlags(command: Command): Command {
  command.addOption(valued('--config', '<file>', 'Configuration file of the agent.').helpGroup('Agent:'))
  command.addOption(
    valued('--authtoken-file', '<file>', 'File that holds the authtoken.').helpGroup('Agent:'),
  )
  for (const [, { flag, form, doc, variable }] of settingRows) {
    if (flag === undefined) continue
    command.addOption(valued(flag, form.placeholder, doc + orVariable(variable)).helpGroup('Agent:'))
  }
  return command
}

/** The flags of tunnels of a kind. */
export function addTunnelFlags(command: Command, kind: TunnelKind): Command {
  for (const row of optionRows) {
    const [, { form, doc, kinds, flag, otherFlags = [], variable }] = row
    if (!kinds.includes(kind) || flag === false) continue
    command.addOption(valued(flagName(row), form.placeholder, doc + orVariable(variable?.name)))
    for (const other of otherFlags)
      command.addOption(valued(other, form.placeholder, `The same as ${flagName(row)}.`))
  }
  return command
}

/** What was given on the command line. */
export function flagsOf(command: Command): Flags {
  const given = command.options.flatMap(option => {
    const name = option.attributeName()
    if (command.getOptionValueSource(name) !== 'cli') return []
    const value: unknown = command.getOptionValue(name)
    return [[option.long ?? option.flags, [value].flat().map(String)] as const]
  })
  return new Map(given)
}
