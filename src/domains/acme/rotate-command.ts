import { writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Command } from 'commander'
import { exists, rotationFile } from '#domains/acme/rotation.ts'
import { settingsOf, withDataOptions, type DataOptions } from '#base/data-options.ts'
import { StartError } from '#base/start-error.ts'

const POLL_MS = 100
const PATIENCE_MS = 30_000
/** What sysexits.h calls a failure that passes. */
const NOT_YET = 75

/** `adit rotate`: replaces keys. */
export function rotateCommand(): Command {
  const account = withDataOptions(new Command('acme-account'))
    .description('Replace the key of the ACME account; the server may be running.')
    .action(async (options: DataOptions) => rotateAccount(options))
  return new Command('rotate').description('Replace a key.').addCommand(account)
}

async function rotateAccount(options: DataOptions): Promise<void> {
  const { data_dir: dataDir, acme_directory: directory } = settingsOf(options)
  if (directory === undefined) throw new StartError('there is no ACME account: acme_directory is off')
  const file = rotationFile(dataDir)
  try {
    writeFileSync(file, '', { mode: 0o600 })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new StartError(`${file} cannot be written: ${reason}`)
  }
  for (let waited = 0; waited < PATIENCE_MS; waited += POLL_MS) {
    await pause(POLL_MS)
    if (await exists(file)) continue
    process.stdout.write('The ACME account has a new key; the server logs which account it is.\n')
    return
  }
  process.stderr.write(
    'adit: not done yet: it completes when a server runs on this data folder and the CA accepts the key; ' +
      'see the server log\n',
  )
  process.exitCode = NOT_YET
}
