#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { SettingError } from '#base/settings.ts'
import { serveCommand } from '#server/command.ts'
import { StartError } from '#server/start-error.ts'
import metadata from '../../package.json' with { type: 'json' }

const program = new Command('adit')
  .description('Tunnels and ingress on a machine of your own.')
  .version(metadata.version)
  .exitOverride()
program.addCommand(serveCommand().exitOverride())

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
}

/** Says in one line what went wrong; the code tells scripts which kind of thing it was. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  if (!(error instanceof SettingError || error instanceof StartError)) throw error
  process.stderr.write(`adit: ${error.message}\n`)
  return error instanceof SettingError ? 2 : 1
}
