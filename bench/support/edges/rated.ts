import { type Figures, inTurn, median, seconds } from '../interleave.ts'
import type { Address } from '../peers/contender.ts'
import { cpuSeconds } from '../processes.ts'
import { ABSENT, perSecond, type Row } from '../row.ts'
import { wrk } from '../wrk.ts'
import type { Site } from './site.ts'

const CONNECTIONS = 64

/** HTTPS requests that all get the same response. */
export interface Rated {
  /** What is measured besides the rate: the process that answers. */
  readonly site: Pick<Site, 'pid'>
  readonly address: Address
  readonly path: string
  readonly headers?: readonly string[]
  /** A script that selects the requests, instead of the path. */
  readonly script?: string
}

/** Requests per second, and CPU time of the gateway for ten thousand of them. */
export async function rate({ site, address, ...work }: Rated): Promise<Figures> {
  const before = cpuSeconds([site.pid])
  const figures = await wrk(address, { ...work, connections: CONNECTIONS, tls: true, seconds }, '')
  const spent = cpuSeconds([site.pid]) - before
  return { rate: figures.perSecond, cpu: (spent / (figures.perSecond * seconds)) * 10_000 }
}

/** One table row: what is compared, and the target ratio of its rates. */
interface Comparison {
  readonly name: string
  readonly ours: string
  readonly peer: string
  readonly atLeast?: number
}

/** Measures all of them interleaved, and compares the named ones. Ratios are those of single rounds. */
export async function* compareRates(
  rated: Readonly<Record<string, Rated>>,
  comparisons: readonly Comparison[],
): AsyncGenerator<Row> {
  // Warm up the compiler, and the connections of each route.
  for (const each of Object.values(rated)) await rate(each)
  const runs = Object.entries(rated).map(([name, each]) => [name, () => rate(each)] as const)
  const results = await inTurn(Object.fromEntries(runs))
  for (const { name, ours, peer, atLeast } of comparisons) {
    const compared = { ours: results[ours] ?? [], peer: results[peer] ?? [] }
    const target = atLeast === undefined ? {} : { target: { atLeast } }
    yield { name, ...cellsOf(compared, 'rate', perSecond), ...target }
    yield { name: `${name}, CPU/10k`, ...cellsOf(compared, 'cpu', value => `${value.toFixed(2)} s`) }
  }
}

/** The medians of a figure, and the median of its ratio. */
export function cellsOf(
  { ours, peer }: { readonly ours: readonly Figures[]; readonly peer: readonly Figures[] },
  key: string,
  show: (value: number) => string,
): Pick<Row, 'ours' | 'peer' | 'figure'> {
  const own = ours.map(figures => figures[key] ?? Number.NaN)
  const others = peer.map(figures => figures[key] ?? Number.NaN)
  const text = (values: readonly number[]): string => (values.length === 0 ? ABSENT : show(median(values)))
  const ratios = own.map((value, at) => value / (others[at] ?? Number.NaN))
  return { ours: text(own), peer: text(others), figure: median(ratios) }
}
