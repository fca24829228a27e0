import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const CHECK_MS = 3000
const IDLE = 0.05

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

/**
 * Returns the memory of the start to the system once this process is idle. Loading a program leaves garbage and
 * compiled code that ran once; V8 keeps both until the heap grows, which it never does in an idle process. A busy
 * process is left alone, because it collects by itself and a full collection would pause it.
 */
export function returnStartMemory(): void {
  let last = performance.eventLoopUtilization()
  const timer = setInterval(() => {
    const { utilization } = performance.eventLoopUtilization(last)
    last = performance.eventLoopUtilization()
    if (utilization > IDLE) return
    clearInterval(timer)
    // Node exposes the collector only by this option, and only to contexts made after it.
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as Collect
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  }, CHECK_MS)
  timer.unref()
}
