import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Registry } from '#base/metrics.ts'

export type LoopDelay = Disposable

const RESOLUTION_MS = 10
const OWN_FILES = '/proc/self/fd'
const OWN_LIMITS = '/proc/self/limits'
/** Shorter than a pause that matters, longer than what timers are late by anyway. */
const TICK_MS = 20
/** In seconds. Nothing that a client or tenant sends may take longer than the first. */
const BLOCK_BOUNDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const QUANTILES = [0.5, 0.9, 0.99, 1] as const

/** How late the event loop turns, since it was last asked; the first sign of a process that has too much to do. */
export function watchLoop(registry: Registry): LoopDelay {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delays.enable()
  const family = registry.gauges(
    'adit_eventloop_delay_seconds',
    'How late the event loop turned since it was last asked.',
    ['quantile'],
    'max',
  )
  for (const quantile of QUANTILES) {
    family.with(String(quantile)).from(() => {
      const nanoseconds = quantile === 1 ? delays.max : delays.percentile(quantile * 100)
      // They are read in this order, so the window ends with the last one.
      if (quantile === 1) delays.reset()
      // Without a turn in the window there is nothing to tell; what is counted includes the interval itself.
      return Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1000)
    })
  }
  const ticking = watchBlocks(registry)
  return {
    [Symbol.dispose]() {
      clearInterval(ticking)
      delays.disable()
    },
  }
}

/** Counts the times that the event loop stood still: unlike the gauges, every reader sees all of them. */
function watchBlocks(registry: Registry): NodeJS.Timeout {
  const blocks = registry.histogram(
    'adit_eventloop_block_seconds',
    'Times that one piece of work kept the event loop from all others, of 10 ms and more.',
    BLOCK_BOUNDS,
  )
  let due = performance.now() + TICK_MS
  const tick = (): void => {
    const now = performance.now()
    const late = (now - due) / 1000
    due = now + TICK_MS
    if (late >= 0.01) blocks.observe(late)
  }
  return setInterval(tick, TICK_MS).unref()
}

/** What the operating system knows of this process, under the names that every program uses. */
export function watchProcess(registry: Registry): void {
  registry.counter('process_cpu_seconds_total', 'Processor time used.').from(() => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  registry.gauge('process_resident_memory_bytes', 'Memory held.').from(() => process.memoryUsage.rss())
  registry
    .gauge('process_heap_bytes', 'Memory of JavaScript objects.')
    .from(() => process.memoryUsage().heapUsed)
  registry
    .gauge('process_start_time_seconds', 'When the process started, since 1970.', 'max')
    .from(() => Math.round(Date.now() / 1000 - process.uptime()))
  // Only Linux tells.
  if (!existsSync(OWN_FILES)) return
  registry.gauge('process_open_fds', 'Open files and sockets.').from(() => readdirSync(OWN_FILES).length)
  const [, most] = /^Max open files +(\d+)/m.exec(readFileSync(OWN_LIMITS, 'utf8')) ?? []
  registry.gauge('process_max_fds', 'How many of them there may be.').set(Number(most ?? Infinity))
}
