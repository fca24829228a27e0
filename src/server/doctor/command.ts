import { Command } from 'commander'
import { dataFlags, withDataOptions, type DataOptions } from '#base/data-options.ts'

const AFTER_HELP = `
Reads the settings of "adit serve" from the file and the environment, and
changes nothing. Exit codes: 0 without problems, 1 with one. Warnings do not
count.
`

/** `adit doctor`: checks the machine of a server, running or not. */
export function doctorCommand(): Command {
  return withDataOptions(new Command('doctor'))
    .description(
      'Check what a server needs of its machine: DNS, ports, certificates, clock, disk, database, limits.',
    )
    .option('--json', 'print JSON')
    .addHelpText('after', AFTER_HELP)
    .action(async ({ json = false, ...options }: DataOptions & { readonly json?: boolean }) => {
      const { examine, findingText } = await import('#server/doctor/doctor.ts')
      const { publicDefaults } = await import('#base/public-defaults.ts')
      const { readSettings } = await import('#base/read-settings.ts')
      const findings = await examine(readSettings(dataFlags(options), process.env, publicDefaults))
      const isFine = findings.every(({ result }) => result !== 'problem')
      const text = json
        ? `${JSON.stringify({ ok: isFine, checks: findings }, null, 2)}\n`
        : findings.map(findingText).join('')
      process.stdout.write(text)
      process.exitCode = isFine ? 0 : 1
    })
}
