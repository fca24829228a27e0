import type { Command } from 'commander'

/** Commands for the machine of a server. */
export const serverCommands: readonly string[] = [
  'serve',
  'ready',
  'doctor',
  'backup',
  'restore',
  'migrate',
  'rotate',
]

/** The headings in the help of the program; other commands come last. */
const groups = new Map<string, readonly string[]>([
  ['Tunnels:', ['http', 'tcp', 'tls', 'tunnel', 'start']],
  ['Agent:', ['config', 'authtoken', 'diagnose', 'service', 'update', 'trust']],
  ['Server:', serverCommands],
  ['Management:', ['api', 'requests', 'status', 'settings', 'reload', 'usage', 'cluster', 'dashboard']],
])

/** Adds commands, grouped under their headings. */
export function addGrouped(program: Command, commands: readonly Command[]): void {
  const left = new Set(commands)
  for (const [heading, names] of groups)
    for (const command of commands)
      if (names.includes(command.name())) {
        program.addCommand(command.helpGroup(heading))
        left.delete(command)
      }
  program.commandsGroup('Other:')
  for (const command of left) program.addCommand(command)
  program.helpCommand('help [command]', 'Print the help of a command.')
}
