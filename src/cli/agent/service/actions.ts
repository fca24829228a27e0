import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, resolve } from 'node:path'
import { ownProgram } from '#base/own-program.ts'
import { configPath } from '#cli/agent/config-file.ts'
import { readConfig } from '#cli/agent/config.ts'
import type { Flags } from '#cli/agent/given-flags.ts'
import { configsOf } from '#cli/agent/open.ts'
import { launchd } from '#cli/agent/service/launchd.ts'
import type { ServiceAction, ServiceManager } from '#cli/agent/service/service.ts'
import { systemd } from '#cli/agent/service/systemd.ts'
import { windowsTask } from '#cli/agent/service/windows.ts'
import { CommandError, ConfigError, exitCodes } from '#cli/failure.ts'
import { printable } from '#cli/printable.ts'

/** The usual reason: `su` and `sudo` start no service manager for the user. */
const USER_HINT =
  '\n  A service of a user needs a login session of this user, not one of su or sudo ("loginctl enable-linger" keeps one ' +
  'open), or run this as root without --user.'

function manager(flags: Flags, files: readonly string[]): ServiceManager {
  const userId = process.geteuid?.() ?? 0
  const isUser = flags.has('--user') || (process.platform !== 'win32' && userId !== 0)
  const named = files.flatMap(file => ['--config', resolve(file)])
  const command = [process.execPath, ...ownProgram(), 'start', '--all', '--log', 'stdout', ...named]
  const spec = { command, home: process.env['HOME'] ?? homedir(), isUser }
  if (process.platform === 'darwin') return launchd(spec, userId)
  return process.platform === 'win32' ? windowsTask(spec) : systemd(spec)
}

function execute([program = '', ...args]: readonly string[]): number {
  const { error, status } = spawnSync(program, args, { stdio: 'inherit' })
  const { code } = (error ?? {}) as NodeJS.ErrnoException
  if (error)
    throw new CommandError(
      `${program} cannot be run: ${code ?? error.message}. This command needs the service manager of the system; otherwise run "adit start --all" with your own supervisor.`,
      exitCodes.unavailable,
    )
  return status ?? 1
}

function executeAll(commands: readonly (readonly string[])[]): void {
  for (const command of commands) {
    const status = execute(command)
    if (status !== 0)
      throw new CommandError(
        `"${command.join(' ')}" failed with exit code ${status}${command.includes('--user') ? USER_HINT : ''}`,
        exitCodes.failure,
      )
  }
}

/** `adit service install`: a service that runs every tunnel of the file. */
export function install(flags: Flags): void {
  const given = configsOf(flags)
  const files = given.length === 0 ? [configPath(process.env)] : given
  const { tunnels, path } = readConfig(files, process.env)
  if (tunnels.size === 0)
    throw new ConfigError(
      `${path} has no tunnels, so a service would have nothing to do. Add one with "adit config edit"`,
    )
  const { file, install: commands } = manager(flags, files)
  if (file) {
    mkdirSync(dirname(file.path), { recursive: true })
    writeFileSync(file.path, file.text)
  }
  executeAll(commands)
  const what =
    file === undefined ? 'The service was installed.' : `The service was installed as ${file.path}.`
  const start = ['adit service start', ...(flags.has('--user') ? ['--user'] : [])].join(' ')
  process.stdout.write(`${printable(what)} Start it with "${start}".\n`)
}

/** `adit service uninstall`. */
export function uninstall(flags: Flags): void {
  const { file, uninstall: commands } = manager(flags, [])
  if (file && !existsSync(file.path))
    throw new CommandError(`there is no service: ${file.path} does not exist`, exitCodes.notFound)
  // Stopping a stopped service fails, which does not matter here.
  const [stop = [], ...rest] = commands
  execute(stop)
  if (file) rmSync(file.path, { force: true })
  executeAll(rest)
  process.stdout.write('The service was removed.\n')
}

/** `adit service start` and its like; returns the exit code. */
export function control(action: ServiceAction, flags: Flags): number {
  const { file, run } = manager(flags, [])
  if (file && !existsSync(file.path))
    throw new CommandError(
      `there is no service: ${file.path} does not exist. Create it with "adit service install"`,
      exitCodes.notFound,
    )
  return run[action].reduce((_, command) => execute(command), 0)
}
