import type { Command, Option } from 'commander'

/** Options that wrappers of the hosted agent put before the command. */
const LEADING = /^--?(config|log|log-format|log-level|authtoken|region)(=.*)?$/s
const LONG = /^--?([a-z][a-z0-9-]+)(?:=(.*))?$/is
const SWITCH_WORD = /^(true|false|on|off)$/i

export interface CommandLine {
  /** Begins with the command. */
  readonly words: readonly string[]
  /** The arguments before it. */
  readonly leading: readonly string[]
}

/** Finds the command, which options may precede. */
export function commandLine(args: readonly string[]): CommandLine {
  let at = 0
  for (let match = LEADING.exec(args[at] ?? ''); match; match = LEADING.exec(args[at] ?? ''))
    at += match[2] === undefined ? 2 : 1
  if (at >= args.length) return { words: args, leading: [] }
  return { words: args[at] === '-v' ? ['--version'] : args.slice(at), leading: args.slice(0, at) }
}

/** The command that the words name, such as that of `config check`. */
function commandOf(program: Command, words: readonly string[]): Command {
  const [word] = words
  const inner = program.commands.find(each => each.name() === word || each.aliases().includes(word ?? ''))
  return inner === undefined ? program : commandOf(inner, words.slice(1))
}

const optionOf = (command: Command, arg: string): Option | undefined => {
  const name = LONG.exec(arg)?.[1]
  return name === undefined ? undefined : command.options.find(({ long }) => long === `--${name}`)
}

/**
 * Rewrites options to the form that commander parses: two dashes instead of one, and a value for every switch. Options
 * before the command apply if the command has them.
 */
export function spelledOut({ words, leading }: CommandLine, program: Command): string[] {
  // Its options are derived from the contract and have no hosted forms.
  if (words[0] === 'api') return [...words]
  const command = commandOf(program, words)
  const { options, rest } = spelled(words, command)
  return [...options, ...leadingOf(leading, command), ...rest]
}

function leadingOf(leading: readonly string[], command: Command): string[] {
  const kept: string[] = []
  for (let at = 0; at < leading.length; at++) {
    const arg = leading[at] ?? ''
    const size = arg.includes('=') ? 1 : 2
    if (optionOf(command, arg)) kept.push(...leading.slice(at, at + size))
    at += size - 1
  }
  return spelled(kept, command).options
}

/** `rest` is what follows `--`. */
function spelled(args: readonly string[], command: Command): { options: string[]; rest: readonly string[] } {
  const options: string[] = []
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? ''
    if (arg === '--') return { options, rest: args.slice(at) }
    const option = optionOf(command, arg)
    const value = LONG.exec(arg)?.[2]
    const next = args[at + 1]
    if (option === undefined) options.push(arg)
    else if (value !== undefined) options.push(`${option.long}=${value}`)
    else if (option.optional) {
      const isSaid = next !== undefined && SWITCH_WORD.test(next)
      options.push(`${option.long}=${isSaid ? next : 'true'}`)
      if (isSaid) at++
    } else if (option.required && next !== undefined) {
      options.push(option.long ?? arg, next)
      at++
    } else options.push(option.long ?? arg)
  }
  return { options, rest: [] }
}
