import { readFileSync } from 'node:fs'
import { Adit } from './support/adit.ts'
import { alternate, Load, type Job } from './support/load.ts'
import { perSecond, type Row } from './support/row.ts'

const FEW = 100
const MANY = 100_000
const ROUND = { milliseconds: 1000 }
const PAGE = 20
/** Random ids; enough to reach every page of the database. */
const SAMPLE = 10_000

/** The memory of a process, in megabytes. */
function residentMemory(pid: number | undefined): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return (Number(kibibytes) * 1024) / 1e6
}

/** Starts on existing data, and measures how long that takes. */
async function startAgain(dataDir: string): Promise<{ adit: Adit; seconds: number }> {
  const start = performance.now()
  const adit = await Adit.start(dataDir)
  const { status } = await adit.process.api.get('/readyz')
  if (status !== 200) throw new Error(`/readyz answered ${status}`)
  return { adit, seconds: (performance.now() - start) / 1000 }
}

type Requests = Pick<Job, 'port' | 'before' | 'values' | 'after'>

interface Question {
  readonly name: string
  readonly target?: Row['target']
  readonly of: (adit: Adit, ids: readonly string[]) => Requests
}

const sample = (ids: readonly string[]): string[] =>
  Array.from({ length: SAMPLE }, () => ids[Math.floor(Math.random() * ids.length)] ?? '')

const questions: readonly Question[] = [
  {
    name: 'GET by random id',
    target: { atMost: 1.2 },
    of: (adit, ids) => adit.get('/ip_policies/', sample(ids)),
  },
  { name: 'first page, limit=100', target: { atMost: 1.5 }, of: adit => adit.get('/ip_policies?limit=100') },
  {
    // The server keeps all pages of few resources as responses, and reads those of many.
    name: `random page, limit=${PAGE}, read vs kept`,
    // Only ids with more than a page of older ones, so that all pages have the same length.
    of: (adit, ids) => adit.get(`/ip_policies?limit=${PAGE}&before_id=`, sample(ids.slice(0, -PAGE - 1))),
  },
]

interface Population {
  readonly adit: Adit
  readonly ids: readonly string[]
}

async function* slowdown(load: Load, few: Population, many: Population): AsyncGenerator<Row> {
  for (const { name, target, of } of questions) {
    for (const connections of [1, 64]) {
      const rate = (requests: Requests) => async () =>
        (await load.run({ ...requests, connections, until: ROUND })).perSecond
      const [fast = 0, slow = 0] = await alternate([
        rate(of(few.adit, few.ids)),
        rate(of(many.adit, many.ids)),
      ])
      yield {
        name: `${name}, ${connections} conn., ${MANY} resources (peer: ${FEW})`,
        ours: perSecond(slow),
        peer: perSecond(fast),
        figure: fast / slow,
        ...(target && { target }),
      }
    }
  }
}

/** How much slower everything is with many resources than with few. */
export async function* scale(): AsyncGenerator<Row> {
  using load = new Load()
  await using small = await Adit.start()
  await small.fill(load, FEW)
  const before = await Adit.start()
  await before.fill(load, MANY)
  await before.stop()

  const { adit, seconds } = await startAgain(before.dataDir)
  await using large = adit
  const about = { ours: `${MANY} res.`, peer: '' }
  yield { ...about, name: 'start until /readyz', figure: seconds, unit: 's', target: { atMost: 3 } }
  const memory = { ...about, unit: 'MB', target: { atMost: 200 } } as const
  const { pid } = large.process.child
  yield { ...memory, name: 'resident memory after start', figure: residentMemory(pid) }
  const few = { adit: small, ids: await small.ids() }
  yield* slowdown(load, few, { adit: large, ids: await large.ids() })
  yield { ...memory, name: 'resident memory after load', figure: residentMemory(pid) }
}
