import { stolenSeconds } from './processes.ts'

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

/** A round with more than this share stolen by the host says little about the contestant. */
const MAX_STOLEN = 0.03
/** A host may be busy for minutes, and a benchmark must end. */
const MAX_REPEATS = 2

let repeats = 0

/** How many rounds were repeated so far, because the host took processor time away. */
export const repeatedRounds = (): number => repeats

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
        results.get(name)?.push(await undisturbed(run))
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

/** The result of the first round that the host did not disturb, or of the last. */
async function undisturbed(run: () => Promise<Figures>): Promise<Figures> {
  for (let left = MAX_REPEATS; ; left--) {
    const [begun, stolenBefore] = [performance.now(), stolenSeconds()]
    const figures = await run()
    const stolen = (stolenSeconds() - stolenBefore) / ((performance.now() - begun) / 1000)
    if (left === 0 || stolen <= MAX_STOLEN) return figures
    repeats++
  }
}

const medians = (figures: readonly Figures[]): Figures =>
  Object.fromEntries(
    Object.keys(figures[0] ?? {}).map(key => [key, median(figures.map(each => each[key] ?? Number.NaN))]),
  )
