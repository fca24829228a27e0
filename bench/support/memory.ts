import { setTimeout } from 'node:timers/promises'
import type { AgentsAnswer, AgentsJob } from './agents-program.ts'
import type { IdleAnswer, IdleJob } from './idle-program.ts'
import { seconds } from './interleave.ts'
import type { AditTunnel } from './peers/adit.ts'
import { residentBytes } from './processes.ts'
import { ask, program } from './programs.ts'
import type { Row } from './row.ts'

const SETTLE_MS = 3000

interface Weight {
  readonly name: string
  readonly count: number
  readonly program: string
  readonly job: (adit: AditTunnel) => IdleJob | AgentsJob
  /** In kilobytes each, or in megabytes for all. */
  readonly target: { readonly eachKb: number } | { readonly allMb: number }
}

const idle = (adit: AditTunnel, job: Pick<IdleJob, 'tls' | 'count' | 'path' | 'stall'>): IdleJob => {
  const address = job.tls ? adit.https : adit.http
  return { port: address?.port ?? 0, host: address?.host ?? '', ...job }
}

/** The quick run opens a tenth: it shows that everything works, not the memory. */
const many = (count: number): number => (seconds < 3 ? count / 10 : count)

const weights: readonly Weight[] = [
  {
    name: 'idle agent sessions',
    count: many(1000),
    program: 'agents-program.ts',
    job: ({ agentPort, authtoken }) => ({ port: agentPort, authtoken, count: many(1000) }),
    target: { eachKb: 80 },
  },
  {
    name: 'idle clients, plain',
    count: many(10_000),
    program: 'idle-program.ts',
    job: adit => idle(adit, { tls: false, count: many(10_000), path: '/', stall: false }),
    target: { eachKb: 8 },
  },
  {
    name: 'idle clients, TLS',
    count: many(10_000),
    program: 'idle-program.ts',
    job: adit => idle(adit, { tls: true, count: many(10_000), path: '/', stall: false }),
    target: { eachKb: 60 },
  },
  {
    name: 'readers that stall in a download of 10 MiB',
    count: many(200),
    program: 'idle-program.ts',
    job: adit => idle(adit, { tls: false, count: many(200), path: '/bulk', stall: true }),
    target: { allMb: 120 },
  },
]

async function weigh(adit: AditTunnel, weight: Weight): Promise<Row> {
  const child = program(weight.program)
  try {
    const before = residentBytes(adit.serverPid)
    const { open } = await ask<IdleAnswer | AgentsAnswer>(child, weight.job(adit))
    await setTimeout(SETTLE_MS)
    const added = residentBytes(adit.serverPid) - before
    const about = { name: `memory for ${weight.count} ${weight.name}`, peer: '' }
    const ours = open === weight.count ? 'all open' : `${open} open`
    return 'eachKb' in weight.target
      ? {
          ...about,
          ours,
          figure: added / weight.count / 1e3,
          unit: 'kB',
          target: { atMost: weight.target.eachKb },
        }
      : { ...about, ours, figure: added / 1e6, unit: 'MB', target: { atMost: weight.target.allMb } }
  } finally {
    child.kill()
  }
}

/**
 * The gateway's memory for idle peers. Each measurement adds to the ones before, so that garbage is not counted twice.
 */
export async function* memory(adit: AditTunnel): AsyncGenerator<Row> {
  for (const weight of weights) {
    try {
      yield await weigh(adit, weight)
    } catch (error) {
      console.error(`  ${weight.name}: ${String(error)}`)
    }
  }
}
