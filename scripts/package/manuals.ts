import type { Command } from 'commander'
import { allCommands } from '#bin/main.ts'
import { programOf } from '#bin/program.ts'
import { completionScript } from '#cli/completion.ts'
import { EPOCH } from './archive.ts'

const program = await programOf(allCommands)

/** Where each shell of Debian finds completions, below /usr/share. */
export const completions = (): { path: string; text: string }[] => [
  { path: 'bash-completion/completions/adit', text: completionScript(program, 'bash') },
  { path: 'zsh/vendor-completions/_adit', text: completionScript(program, 'zsh') },
  { path: 'fish/vendor_completions.d/adit.fish', text: completionScript(program, 'fish') },
]

interface ManPage {
  readonly name: string
  readonly text: string
}

/** A page for the program and one for each command, from the declarations of their help. */
export const manPages = (): ManPage[] => [
  { name: 'adit.1', text: page(program, 'adit') },
  ...program.commands.map(command => ({
    name: `adit-${command.name()}.1`,
    text: page(command, `adit ${command.name()}`),
  })),
]

function page(command: Command, name: string): string {
  const title = name.replaceAll(' ', '-')
  const help = command.createHelp()
  const options = help.visibleOptions(command).map(option => item(option.flags, option.description))
  const inner = help.visibleCommands(command).map(each => item(each.name(), each.description()))
  return [
    `.TH ${title.toUpperCase().replaceAll('-', '\\-')} 1 "${EPOCH.toISOString().slice(0, 10)}" "adit" "Adit manual"`,
    '.SH NAME',
    `${roff(title)} \\- ${roff(command.description().replace(/\.$/, ''))}`,
    '.SH SYNOPSIS',
    `.B ${roff(name)}`,
    roff(command.usage()),
    ...section('COMMANDS', inner),
    ...section('OPTIONS', options),
    ...after(command),
    '',
  ].join('\n')
}

const section = (title: string, items: readonly string[]): string[] =>
  items.length === 0 ? [] : [`.SH ${title}`, ...items]

const item = (term: string, doc: string): string => `.TP\n.B ${roff(term)}\n${roff(doc)}`

/** The help text after the options: settings, exit codes, examples. */
function after(command: Command): string[] {
  let text = ''
  command.configureOutput({ writeOut: part => (text += part) })
  command.outputHelp()
  const [, rest] = text.split(/^ {2}-h, --help[^\n]*\n(?: {4,}[^\n]*\n)*/m)
  const lines = rest?.replace(/^\nCommands:\n(?:[^\n]+\n)*/m, '').trim() ?? ''
  return lines === '' ? [] : ['.SH NOTES', '.nf', roff(lines), '.fi']
}

/** A dot or quote at the beginning of a line is a roff request, and a hyphen may become a dash. */
const roff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^([.'])/gm, '\\&$1')
