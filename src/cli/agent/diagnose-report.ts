import { styleText } from 'node:util'
import { settleAgent } from '#cli/agent/agent-settings.ts'
import { readConfig } from '#cli/agent/config.ts'
import { diagnose, type Finding } from '#cli/agent/diagnose.ts'
import { configsOf } from '#cli/agent/open.ts'
import type { Flags } from '#cli/agent/given-flags.ts'
import { printable, printableJson } from '#cli/printable.ts'

const styles = { ok: 'green', failed: 'red', skipped: 'dim' } as const

function textOf({ step, result, detail, advice }: Finding): string {
  const first =
    `${styleText(styles[result], result.padEnd(7))}  ${step.padEnd(9)}  ${printable(detail)}`.trimEnd()
  return advice === undefined ? `${first}\n` : `${first}\n${' '.repeat(20)}${advice}\n`
}

/** `adit diagnose`: diagnoses the connection to the gateway; returns the exit code. */
export async function reportDiagnosis(flags: Flags): Promise<number> {
  const config = readConfig(configsOf(flags), process.env)
  const settings = settleAgent({ flags, environment: process.env, file: config.settings })
  const findings = await diagnose(settings)
  const ok = findings.every(({ result }) => result === 'ok')
  const server = settings.server.value
  const text = flags.has('--json')
    ? `${printableJson(JSON.stringify({ server, ok, steps: findings }, null, 2))}\n`
    : findings.map(textOf).join('')
  process.stdout.write(text)
  return ok ? 0 : 1
}
