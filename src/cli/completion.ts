import { Argument, Command, type Option } from 'commander'

/** The completions after one command. */
interface Completable {
  /** The words before it, such as `adit api ip-policies`. */
  readonly path: string
  readonly words: readonly Word[]
}

interface Word {
  readonly text: string
  readonly doc: string
}

const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

/** `adit completion`: prints the completions of a shell, derived from the declarations of all commands. */
export function completionCommand(program: () => Promise<Command>): Command {
  return new Command('completion')
    .description('Print the completion script of a shell.')
    .addArgument(new Argument('<shell>', 'Which shell.').choices(shells))
    .addHelpText(
      'after',
      '\nExamples:\n  $ source <(adit completion bash)\n  $ adit completion zsh > "${fpath[1]}/_adit"\n' +
        '  $ adit completion fish > ~/.config/fish/completions/adit.fish',
    )
    .action(async (shell: Shell) => {
      process.stdout.write(completionScript(await program(), shell))
    })
}

export function completionScript(program: Command, shell: Shell): string {
  const all = completables(program, program.name())
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](all)
}

function completables(command: Command, path: string): Completable[] {
  const visible = command.createHelp().visibleCommands(command)
  const options = command.options.filter(({ hidden }) => !hidden).flatMap(optionWords)
  const words = [
    ...visible.map(each => ({ text: each.name(), doc: each.summary() || each.description() })),
    ...options,
  ]
  return [{ path, words }, ...command.commands.flatMap(each => completables(each, `${path} ${each.name()}`))]
}

const optionWords = ({ long, description }: Option): Word[] =>
  long ? [{ text: long, doc: description }] : []

/** Options and files may be between the words, so only words that are commands count. */
const bashScript = (all: readonly Completable[]): string => `# bash completion of adit
_adit() {
  local current=\${COMP_WORDS[COMP_CWORD]} place=adit word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case " $(_adit_words "$place") " in *" $word "*) case $word in -*) ;; *) place="$place $word" ;; esac ;; esac
  done
  COMPREPLY=($(compgen -W "$(_adit_words "$place")" -- "$current"))
}
_adit_words() {
  case $1 in
${all.map(({ path, words }) => `    ${quoted(path)}) echo ${quoted(words.map(({ text }) => text).join(' '))} ;;`).join('\n')}
  esac
}
complete -o default -F _adit adit
`

const zshScript = (all: readonly Completable[]): string => `#compdef adit
_adit() {
  local place=adit word
  local -a known
  for word in \${words[2,CURRENT-1]}; do
    _adit_words "$place"
    [[ $word != -* && -n \${known[(r)$word:*]} ]] && place="$place $word"
  done
  _adit_words "$place"
  _describe adit known || _files
}
_adit_words() {
  case $1 in
${all.map(({ path, words }) => `    ${quoted(path)}) known=(${words.map(({ text, doc }) => quoted(`${text}:${firstLine(doc)}`)).join(' ')}) ;;`).join('\n')}
  esac
}
_adit "$@"
`

const fishScript = (all: readonly Completable[]): string => `# fish completion of adit
function __adit_place
  set -l place
  for word in (commandline -opc)
    string match -q -- '-*' $word; or set -a place $word
  end
  test "$place" = "$argv"
end
${all
  .flatMap(({ path, words }) =>
    words.map(({ text, doc }) => {
      const what = text.startsWith('--') ? `-l ${text.slice(2)}` : `-a ${text}`
      return `complete -c adit -n ${quoted(`__adit_place ${path}`)} ${what} -d ${quoted(firstLine(doc))}`
    }),
  )
  .join('\n')}
`

const firstLine = (text: string): string => text.split('\n')[0] ?? ''
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`
