import type { Command } from 'commander'

/** What was given for each flag, by its long name. */
export type Flags = ReadonlyMap<string, readonly string[]>

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
