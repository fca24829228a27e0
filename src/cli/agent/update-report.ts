import { settleAgent } from '#cli/agent/agent-settings.ts'
import { readConfig } from '#cli/agent/config.ts'
import type { Flags } from '#cli/agent/given-flags.ts'
import { configsOf } from '#cli/agent/open.ts'
import { isUpdate, newestVersion } from '#cli/agent/update.ts'
import { CommandError, exitCodes } from '#cli/failure.ts'
import { printable } from '#cli/printable.ts'
import metadata from '../../../package.json' with { type: 'json' }

/** `adit update`: only reports; installing is left to the user. */
export async function reportUpdate(flags: Flags): Promise<void> {
  const { settings: file } = readConfig(configsOf(flags), process.env)
  const { update_url: url } = settleAgent({ flags, environment: process.env, file })
  process.stdout.write(`${printable(await report(url?.value))}\n`)
}

async function report(url: string | undefined): Promise<string> {
  const own = `This is Adit ${metadata.version}.`
  if (url === undefined)
    return `${own} To look for newer versions, set update_url in the configuration file (docs/tunnels.md).`
  try {
    const newest = await newestVersion(url)
    if (newest === metadata.version) return `${own} It is the newest version.`
    return isUpdate(metadata.version, newest)
      ? `${own} Version ${newest} is available; install it in the way you installed this one.`
      : `${own} ${url} names version ${newest}, which is not an update of it.`
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CommandError(`${reason}. Check update_url (${url})`, exitCodes.unavailable)
  }
}
