import { styleText } from 'node:util'
import { runningServer } from '#base/running-server.ts'
import type { Settings } from '#base/settings.ts'
import { database } from '#server/doctor/database.ts'
import type { CheckResult } from '#server/doctor/finding.ts'
import { clock, disk, fileLimit, versions } from '#server/doctor/machine.ts'
import { certificate, dns, ports } from '#server/doctor/network.ts'
import metadata from '../../../package.json' with { type: 'json' }

const styles = { ok: 'green', warning: 'yellow', problem: 'red' } as const

/** Checks what a server with these settings needs of its machine. */
export async function examine(settings: Settings): Promise<CheckResult[]> {
  const isRunning = runningServer(settings.data_dir) !== undefined
  return [
    versions(metadata.version),
    await database(settings),
    await disk(settings),
    fileLimit(),
    await clock(settings),
    await dns(settings),
    ...(await ports(settings, isRunning)),
    await certificate(settings, isRunning),
  ]
}

export function findingText({ check, result, detail, fix }: CheckResult): string {
  const line = `${styleText(styles[result], result.padEnd(7))}  ${check.padEnd(11)}  ${detail}\n`
  return fix === undefined ? line : `${line}${' '.repeat(22)}${fix}\n`
}
