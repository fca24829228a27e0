import { InvalidArgumentError, type Command } from 'commander'
import { SettingError } from '#base/setting-values.ts'
import { settings } from '#base/settings.ts'

/** Options of commands that call the management API. */
export const addConnectionOptions = (command: Command): Command =>
  command
    .option('--url <url>', 'URL of the API; default ADIT_API_URL, or this machine.', address)
    .option('--key-file <file>', 'File with the API key.')

function address(text: string): string {
  try {
    return settings.api_url.read(text)
  } catch (error) {
    if (!(error instanceof SettingError)) throw error
    throw new InvalidArgumentError(`It must be ${error.message}.`)
  }
}
