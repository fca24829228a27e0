import { findConnection, type ConnectionOptions } from '#cli/connection.ts'
import { roomOn } from '#cli/output.ts'
import { printableJson } from '#cli/printable.ts'
import { usageText } from '#cli/usage/usage-text.ts'
import { createClient } from '#client/client.ts'

export interface UsageCommandOptions extends ConnectionOptions {
  readonly by: string
  readonly window: string
  readonly limit: string
  readonly output: 'text' | 'json'
}

export async function show(options: UsageCommandOptions): Promise<void> {
  const { by, window, limit, output } = options
  const { url, token } = findConnection(options, process.env)
  const client = createClient({ url, token: token.reveal() })
  // People read totals; a program may want the points too.
  const usage = await client.usage({ by, window, limit, points: String(output === 'json') })
  const text =
    output === 'json'
      ? `${printableJson(JSON.stringify(usage, null, 2))}\n`
      : usageText(usage, roomOn(process.stdout))
  process.stdout.write(text)
}
