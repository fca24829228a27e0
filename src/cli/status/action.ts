import { styleText } from 'node:util'
import { findConnection, type ConnectionOptions } from '#cli/connection.ts'
import { printableJson } from '#cli/printable.ts'
import { statusLines, type StatusLine } from '#cli/status/status-text.ts'
import { createClient } from '#client/client.ts'

export interface StatusCommandOptions extends ConnectionOptions {
  readonly output: 'text' | 'json'
}

const styles = { ok: 'green', attention: 'yellow', failing: 'red' } as const

const printed = ({ level, item, text }: StatusLine): string =>
  `${styleText(styles[level], level.padEnd(9))}  ${item.padEnd(12)}  ${text}\n`

/** Returns the exit code. */
export async function printStatus(options: StatusCommandOptions): Promise<number> {
  const { url, token } = findConnection(options, process.env)
  const status = await createClient({ url, token: token.reveal() }).status()
  const text =
    options.output === 'json'
      ? `${printableJson(JSON.stringify(status, null, 2))}\n`
      : statusLines(status).map(printed).join('')
  process.stdout.write(text)
  return status.status === 'failing' ? 1 : 0
}
