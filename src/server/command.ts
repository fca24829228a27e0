import { Command } from 'commander'
import { recordRunning } from '#base/running-server.ts'
import { flagOf, fullDocOf, readWithSources, variableOf } from '#base/read-settings.ts'
import { notifyServiceManager } from '#base/service-manager.ts'
import type { Setting } from '#base/settings/setting.ts'
import { settingGroups } from '#base/settings.ts'
import { findStarter, type Starter } from '#server/succession.ts'
import { supervise } from '#server/supervise.ts'

const HELP = `
Every setting is a flag, an environment variable or a key of the YAML file
given with --config (ADIT_CONFIG), in order of precedence. The file's keys are
the flags without leading dashes, with underscores: data_dir. "off" disables a
listener.
`

function description(name: string, spec: Setting<unknown>): string {
  const usual = spec.fallback === undefined ? '' : `; default ${spec.fallback}`
  return `${fullDocOf(spec)} (${variableOf(name)}${usual})`
}

/** `adit serve`: runs the platform until it is stopped. */
export function serveCommand(): Command {
  const command = new Command('serve')
    .description("Run the platform: management API, gateway and agents' listener.")
    .option('--config <file>', 'YAML file with settings')
    .addHelpText('after', HELP)
    .action(async (options: Record<string, string>) => {
      // Before the settings are read, because its mark is not a setting.
      const starter = findStarter()
      // A process that cannot serve must exit, which its open channel would prevent.
      await run(options, starter).finally(() => starter?.leave())
    })
  // In the same line: what starts a server logs its error as one.
  command.configureOutput({
    outputError: (text, write) => write(`${text.trimEnd()} (adit serve --help lists all settings)\n`),
  })
  for (const [heading, settings] of Object.entries(settingGroups))
    for (const [name, spec] of Object.entries<Setting<unknown>>(settings)) {
      const flags = `${flagOf(name)} <${spec.example}>`
      command.addOption(command.createOption(flags, description(name, spec)).helpGroup(`${heading}:`))
    }
  return command
}

async function run(options: Readonly<Record<string, string>>, starter: Starter | undefined): Promise<void> {
  // A reload that is requested before the server can do it must not end the process.
  process.on('SIGHUP', () => undefined)
  const flags = new Map(Object.entries(options).map(([name, value]) => [snake(name), value]))
  // Loaded only now: other commands start in half the time without the server's code.
  const { publicDefaults } = await import('#base/public-defaults.ts')
  const readAgain = () => readWithSources(flags, process.env, publicDefaults)
  const { settings: settled, sources } = readAgain()
  if (settled.workers > 1 && starter === undefined) supervise(settled.log_level)
  const [{ serve }, { live }, { welcome }, { hostHere }, { LastResort }, { createLog }, { inBackground }] =
    await Promise.all([
      import('#server/serve.ts'),
      import('#server/lifetime.ts'),
      import('#server/welcome.ts'),
      import('#base/listen-on.ts'),
      import('#base/last-resort.ts'),
      import('#base/log.ts'),
      import('#base/background.ts'),
    ])
  const log = createLog(settled.log_level)
  using lastResort = new LastResort(log)
  const running = await serve(settled, log, {
    uncaughts: lastResort,
    succession: starter?.succession,
    workerHost: starter?.workerHost,
    sources,
    readAgain,
  })
  const { bound, url } = running
  const record = recordRunning(settled.data_dir, {
    ...(url !== undefined && { api_url: url }),
    ...(bound.agent && { agent_addr: `${hostHere(bound.agent)}:${bound.agent.port}` }),
  })
  // Before the start is announced, since this process may be stopped or killed at once then.
  const watching = new AbortController()
  const lived = live({ running, starter, log, onEnd: () => watching.abort() })
  starter?.ready(running)
  process.stdout.write(welcome(running, settled))
  const report = (text: string): boolean => process.stdout.write(`  ${text}\n`)
  void inBackground({ task: 'domain_watch', log }, () =>
    running.watchDomain({ report, signal: watching.signal }),
  )
  const ended = lived.finally(() => record[Symbol.dispose]())
  const [exitCode] = await Promise.all([ended, notifyServiceManager('ready', log)])
  process.exitCode = exitCode
}

const snake = (camel: string): string => camel.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
