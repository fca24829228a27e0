import { constants } from 'node:os'
import { parseArgs } from 'node:util'
import { writeSection } from './support/document.ts'
import { repeatedRounds } from './support/interleave.ts'
import { endDescendants } from './support/processes.ts'
import { heading, render, type Row, type Topic } from './support/row.ts'
import { toolVersions } from './support/tools.ts'

// Loaded when it runs: some topics load programs that print messages of their own.
const topics: Readonly<Record<string, () => Promise<Topic>>> = {
  api: async () => (await import('./api.ts')).api,
  capture: async () => (await import('./capture.ts')).capture,
  certificates: async () => (await import('./certificates.ts')).certificates,
  cluster: async () => (await import('./cluster.ts')).cluster,
  dashboard: async () => (await import('./dashboard.ts')).dashboard,
  distance: async () => (await import('./distance.ts')).distance,
  edges: async () => (await import('./edges.ts')).edges,
  events: async () => (await import('./events.ts')).events,
  footprint: async () => (await import('./footprint.ts')).footprint,
  memory: async () => (await import('./memory.ts')).memory,
  scale: async () => (await import('./scale.ts')).scale,
  tunnel: async () => (await import('./tunnel.ts')).tunnel,
  workers: async () => (await import('./workers.ts')).workers,
}

/** Topics that measure other programs. */
const topicsWithPeers = ['cluster', 'memory', 'tunnel', 'edges', 'events', 'workers']

// `npm run bench -- NAME` runs the topics whose name contains NAME; --write stores their tables in docs/benchmarks.md.
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: 'boolean', default: false } },
})
const [wanted = 'all'] = positionals
const chosen = Object.keys(topics).filter(name => wanted === 'all' || name.includes(wanted))
if (chosen.length === 0)
  throw new Error(`"${wanted}" is not a topic; topics: ${Object.keys(topics).join(', ')} or all`)

async function run(name: string, measure: Topic): Promise<void> {
  const startedAt = performance.now()
  const versions = topicsWithPeers.includes(name) ? toolVersions() : ''
  if (versions) console.log(versions)
  const repeatedBefore = repeatedRounds()
  const rows: Row[] = []
  for await (const row of measure()) {
    console.log(render(row))
    rows.push(row)
  }
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  console.log(`${name}: ${seconds} s`)
  const repeated = repeatedRounds() - repeatedBefore
  if (values.write) await writeSection(name, rows, { versions, seconds, repeated })
}

// Also what a topic has started that failed or was interrupted.
process.once('exit', endDescendants)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => process.exit(128 + constants.signals[signal]))

console.log(heading())
for (const name of chosen) {
  try {
    const load = topics[name]
    if (load) await run(name, await load())
  } catch (error) {
    // The others still run, and the document keeps the earlier table of this one.
    console.error(`${name}:`, error)
    process.exitCode = 1
  }
}
