import type { ChildProcess } from 'node:child_process'
import { ask, program } from './programs.ts'

/** Commands for the load generator: requests are `before`, one of `values` at random, and `after`. */
export interface Job {
  readonly port: number
  readonly connections: number
  readonly before: string
  readonly values: readonly string[]
  readonly after: string
  readonly until: { readonly milliseconds: number } | { readonly requests: number }
}

export interface Measured {
  readonly perSecond: number
  readonly medianMs: number
  readonly p99Ms: number
  /** The generator's CPU share: near 1 the generator was the bottleneck. */
  readonly busy: number
}

/** Load from a separate process, over kept-alive connections, one request at a time on each. */
export class Load implements Disposable {
  readonly #child: ChildProcess = program('load-program.ts')
  /** The highest CPU share of the generator. */
  busiest = 0

  async run(job: Job): Promise<Measured> {
    const measured = await ask<Measured>(this.#child, job)
    this.busiest = Math.max(this.busiest, measured.busy)
    return measured
  }

  [Symbol.dispose](): void {
    this.#child.kill()
  }
}

const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** Interleaves the measurements, the first round to warm up, and takes medians. */
export async function alternate(runs: readonly (() => Promise<number>)[], rounds = 7): Promise<number[]> {
  const results: number[][] = runs.map(() => [])
  for (let round = 0; round <= rounds; round++) {
    for (const [index, run] of runs.entries()) {
      const value = await run()
      if (round > 0) results[index]?.push(value)
    }
  }
  return results.map(median)
}
