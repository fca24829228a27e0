import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Registry } from '#base/metrics.ts'

export type LoopDelay = Disposable

const RESOLUTION_MS = 10
const OWN_FILES = '/proc/self/fd'
const OWN_LIMITS = '/proc/self/limits'
/** Shorter than a pause that matters, longer than normal timer lateness. */
const TICK_MS = 20
/** In seconds. No client or tenant input may block longer than the first. */
const BLOCK_BOUNDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const QUANTILES = [0.5, 0.9, 0.99, 1] as const

/** Event-loop delay since the last scrape; the first sign of an overloaded process. */
export function watchLoop(registry: Registry): LoopDelay {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delays.enable()
  const family = registry.gauges(
    'adit_eventloop_delay_seconds',
    'Event-loop delay since the last scrape.',
    ['quantile'],
    'max',
  )
  for (const quantile of QUANTILES) {
    family.with(String(quantile)).from(() => {
      const nanoseconds = quantile === 1 ? delays.max : delays.percentile(quantile * 100)
      // They are read in this order, so the window ends with the last one.
      if (quantile === 1) delays.reset()
      // Without a turn in the window there is no value; the measurement includes the interval itself.
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

/** Counts event-loop blocks: unlike the gauges, every scraper sees all of them. */
function watchBlocks(registry: Registry): NodeJS.Timeout {
  const blocks = registry.histogram(
    'adit_eventloop_block_seconds',
    'Event-loop blocks of 10 ms and more.',
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

/** Open files and sockets of this process, and their limit; undefined on systems other than Linux. */
export function openFiles(): { readonly used: number; readonly limit: number } | undefined {
  if (!existsSync(OWN_FILES)) return undefined
  const [, most] = /^Max open files +(\d+)/m.exec(readFileSync(OWN_LIMITS, 'utf8')) ?? []
  return { used: readdirSync(OWN_FILES).length, limit: Number(most ?? Infinity) }
}

/** Process metrics under their standard names. */
export function watchProcess(registry: Registry): void {
  registry.counter('process_cpu_seconds_total', 'CPU time used.').from(() => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  registry.gauge('process_resident_memory_bytes', 'Memory held.').from(() => process.memoryUsage.rss())
  registry.gauge('process_heap_bytes', 'JavaScript heap in use.').from(() => process.memoryUsage().heapUsed)
  registry
    .gauge('process_start_time_seconds', 'Start time of the process, since 1970.', 'max')
    .from(() => Math.round(Date.now() / 1000 - process.uptime()))
  const files = openFiles()
  if (files === undefined) return
  registry.gauge('process_open_fds', 'Open files and sockets.').from(() => openFiles()?.used ?? 0)
  registry.gauge('process_max_fds', 'Maximum number of open files and sockets.').set(files.limit)
}
