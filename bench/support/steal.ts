import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** Unit of the times in /proc/stat. */
const TICKS_PER_SECOND = 100

/** The eighth time of the first line: the processors had work, but the host ran something else. */
function stolenSeconds(): number {
  const [, ...ticks] = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/ +/) ?? []
  return Number(ticks[7] ?? 0) / TICKS_PER_SECOND
}

/** Measures from now on: the returned function reports the stolen share of all processors since then. */
export function stealMeter(): () => number {
  const begun = performance.now()
  const before = stolenSeconds()
  return () => {
    const seconds = (performance.now() - begun) / 1000
    return (stolenSeconds() - before) / (seconds * availableParallelism())
  }
}
