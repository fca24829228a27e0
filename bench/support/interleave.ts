export type Figures = Readonly<Record<string, number>>

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

const number = (name: string, fallback: number): number => Number(process.env[name] ?? fallback)

/** Length and number of rounds; BENCH_SECONDS=1 BENCH_ROUNDS=1 is a quick look. */
export const seconds = number('BENCH_SECONDS', 3)
export const rounds = number('BENCH_ROUNDS', 5)

/** A contestant does the same work for so long before its first counted round: a cold engine is several times slower. */
const warmSeconds = number('BENCH_WARM_SECONDS', 3)

type Contestants = Readonly<Record<string, () => Promise<Figures>>>

/**
 * Runs all contestants interleaved, round after round, and takes the median of each figure. One that fails has no
 * figures: it is reported, and the others continue.
 */
export async function interleave(contestants: Contestants): Promise<Readonly<Record<string, Figures>>> {
  const results = await inTurn(contestants)
  return Object.fromEntries(Object.entries(results).map(([name, figures]) => [name, medians(figures)]))
}

/** The same with the figures of each round; one that fails has none. */
export async function inTurn(contestants: Contestants): Promise<Readonly<Record<string, Figures[]>>> {
  const results = new Map<string, Figures[]>(Object.keys(contestants).map(name => [name, []]))
  const failed = new Set<string>()
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(contestants)) {
      if (failed.has(name)) continue
      try {
        if (round === 0) await warm(run)
        results.get(name)?.push(await run())
      } catch (error) {
        failed.add(name)
        results.set(name, [])
        console.error(`  ${name}: ${String(error)}`)
      }
    }
  }
  return Object.fromEntries(results)
}

async function warm(run: () => Promise<Figures>): Promise<void> {
  const end = performance.now() + 1000 * warmSeconds
  while (performance.now() < end) await run()
}

const medians = (figures: readonly Figures[]): Figures =>
  Object.fromEntries(
    Object.keys(figures[0] ?? {}).map(key => [key, median(figures.map(each => each[key] ?? Number.NaN))]),
  )
