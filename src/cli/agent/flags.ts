import { Option, type Command } from 'commander'
import { settingRows } from '#cli/agent/agent-settings.ts'
import { hostedFlags } from '#cli/agent/hosted-flags.ts'
import type { TunnelKind } from '#tunnel/tunnel-option.ts'
import { flagName, optionRows } from '#tunnel/tunnel-options.ts'

const AGENT = 'Agent:'

const repeated = (text: string, before: readonly string[] = []): string[] => [...before, text]

/** A flag keeps every value it was given; others interpret them. */
const valued = (flag: string, placeholder: string, doc: string): Option =>
  flag.startsWith('--no-')
    ? new Option(flag, doc)
    : new Option(`${flag} ${placeholder}`, doc).argParser(repeated)

const hidden = (flag: string, placeholder: string, group: string): Option =>
  valued(flag, placeholder, '').hideHelp().helpGroup(group)

const orVariable = (name: string | undefined): string => (name === undefined ? '' : ` (${name})`)

/** The flags of the agent itself: gateway, credential, log. */
export function addAgentFlags(command: Command, kind?: TunnelKind): Command {
  command.addOption(valued('--config', '<file>', 'Configuration file of the agent.').helpGroup(AGENT))
  command.addOption(valued('--authtoken-file', '<file>', 'File with the authtoken.').helpGroup(AGENT))
  for (const [, { flag, form, doc, variable, hidesFlag = false }] of settingRows) {
    // Flags that tunnels share were added with theirs.
    if (flag === undefined || command.options.some(({ long }) => long === flag)) continue
    const option = valued(flag, form.placeholder, doc + orVariable(variable)).helpGroup(AGENT)
    command.addOption(option.hideHelp(hidesFlag || isForOthers(flag, kind)))
  }
  for (const [flag, { kinds }] of Object.entries(hostedFlags))
    if (kinds === undefined) command.addOption(hidden(flag, '<value>', AGENT))
  return command
}

/** A tunnel option of other kinds, which this kind accepts and ignores. */
const isForOthers = (flag: string, kind: TunnelKind | undefined): boolean =>
  kind !== undefined && optionRows.some(row => flagName(row) === flag && !row[1].kinds.includes(kind))

/** The flags of tunnels of a kind. */
export function addTunnelFlags(command: Command, kind: TunnelKind): Command {
  for (const row of optionRows) {
    const [, { form, doc, group, kinds, otherFlags = [], aliases = [], variable }] = row
    if (!kinds.includes(kind)) continue
    const heading = `${group}:`
    const add = (flag: string, text: string): void => {
      command.addOption(valued(flag, form.placeholder, text).helpGroup(heading))
    }
    add(flagName(row), doc + orVariable(variable?.name))
    for (const other of otherFlags) add(other, `Alias of ${flagName(row)}.`)
    for (const alias of aliases) command.addOption(hidden(alias, form.placeholder, heading))
  }
  for (const [flag, { kinds }] of Object.entries(hostedFlags))
    if (kinds?.includes(kind) === true) command.addOption(hidden(flag, '<value>', AGENT))
  return command
}
