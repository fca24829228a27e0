import { writeSync } from 'node:fs'
import { errorFields } from '#base/error-fields.ts'
import type { Log } from '#base/log.ts'
import { type LogLevel, logLevels } from '#base/log-levels.ts'

/** The log of the supervisor, in the form of `createLog`. The library of that would take 8 MB. */
export function supervisorLog(least: LogLevel): Log {
  const writer = (level: LogLevel) => {
    const rank = logLevels.indexOf(level)
    return (fields: object, msg?: string): void => {
      if (rank >= logLevels.indexOf(least)) write({ level: 10 * (rank + 2), ...fields, msg })
    }
  }
  return { debug: writer('debug'), info: writer('info'), warn: writer('warn'), error: writer('error') }
}

function write({ level, ...fields }: { readonly level: number; readonly msg: string | undefined }): void {
  const shown = (name: string, value: unknown): unknown => (name === 'error' ? errorFields(value) : value)
  const line = JSON.stringify({ level, time: new Date().toISOString(), ...fields }, shown)
  try {
    writeSync(2, `${line}\n`)
  } catch {
    // A full disk or a closed terminal must not end the server.
  }
}
