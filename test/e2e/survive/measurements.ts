import { readFileSync } from 'node:fs'
import type { Writable } from 'node:stream'
import type { TestContext } from 'node:test'

/** Whether the run uses the sizes of the catalogue; the short run takes seconds. */
export const isLongRun = process.env['TEST_LONG'] === '1'

/** The memory of a process that is in use, in KiB. */
export function memoryOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}

/** The peak memory of a process. */
export class PeakMemory implements Disposable {
  readonly before: number
  #highest: number
  readonly #pid: number
  readonly #timer: NodeJS.Timeout

  constructor(pid: number) {
    this.#pid = pid
    this.before = this.#highest = memoryOf(pid)
    this.#timer = setInterval(() => this.#look(), 50)
  }

  /** How much more than at the beginning, in KiB. */
  get growth(): number {
    this.#look()
    return this.#highest - this.before
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    this.#highest = Math.max(this.#highest, memoryOf(this.#pid))
  }
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Prints the measured figures, good or bad. */
export function reportFigures(
  context: TestContext,
  figures: Readonly<Record<string, number | string>>,
): void {
  const shown = (value: number | string): string =>
    typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(1) : String(value)
  context.diagnostic(
    Object.entries(figures)
      .map(([name, value]) => `${name} ${shown(value)}`)
      .join(', '),
  )
}

export const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

/** Resolves when a stream has drained or is closed. */
export async function untilDrained(stream: Writable): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  stream.once('drain', resolve).once('close', resolve)
  await promise
  stream.off('drain', resolve).off('close', resolve)
}
