import { createWriteStream } from 'node:fs'
import type { Log } from '#base/log.ts'
import type { WriteLine } from '#telemetry/request-log/request-log.ts'

// Buffer for a slow disk; lines beyond it are dropped rather than kept in memory.
const MAX_WAITING = 8_388_608

/** Opens the access log in append mode, so that several processes can share one file. */
export function openAccessLog(target: string | undefined, log: Log): WriteLine | undefined {
  if (target === undefined) return undefined
  const stream = target === 'stdout' ? process.stdout : createWriteStream(target, { flags: 'a', mode: 0o640 })
  let lost = 0
  stream.on('error', error => log.error({ error }, 'the access log cannot be written'))
  return line => {
    if (stream.writableLength > MAX_WAITING || stream.destroyed) {
      lost++
      return
    }
    if (lost > 0)
      log.warn({ lost }, 'requests are missing in the access log: it could not be written in time')
    lost = 0
    stream.write(line)
  }
}
