import { parseArgs } from 'node:util'
import { api } from './api.ts'
import { capture } from './capture.ts'
import { certificates } from './certificates.ts'
import { cluster } from './cluster.ts'
import { dashboard } from './dashboard.ts'
import { distance } from './distance.ts'
import { edges } from './edges.ts'
import { events } from './events.ts'
import { footprint } from './footprint.ts'
import { memory } from './memory.ts'
import { scale } from './scale.ts'
import { writeSection } from './support/document.ts'
import { heading, render, type Row, type Topic } from './support/row.ts'
import { toolVersions } from './support/tools.ts'
import { tunnel } from './tunnel.ts'
import { workers } from './workers.ts'

const topics: Readonly<Record<string, Topic>> = {
  api,
  capture,
  certificates,
  cluster,
  dashboard,
  distance,
  edges,
  events,
  footprint,
  memory,
  scale,
  tunnel,
  workers,
}

/** Those that measure other programs. */
const withPeers = ['cluster', 'memory', 'tunnel', 'edges', 'events', 'workers']

// `npm run bench -- NAME` runs the topics whose name contains NAME; --write stores their tables in docs/benchmarks.md.
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: 'boolean', default: false } },
})
const [wanted = 'all'] = positionals
const chosen = Object.keys(topics).filter(name => wanted === 'all' || name.includes(wanted))
if (chosen.length === 0) throw new Error(`"${wanted}" is no topic: ${Object.keys(topics).join(', ')} or all`)

async function run(name: string, measure: Topic): Promise<void> {
  const begun = performance.now()
  const versions = withPeers.includes(name) ? toolVersions() : ''
  if (versions) console.log(versions)
  const rows: Row[] = []
  for await (const row of measure()) {
    console.log(render(row))
    rows.push(row)
  }
  const seconds = Math.round((performance.now() - begun) / 1000)
  console.log(`${name}: ${seconds} s`)
  if (values.write) await writeSection(name, rows, { versions, seconds })
}

console.log(heading())
for (const name of chosen) {
  try {
    const measure = topics[name]
    if (measure) await run(name, measure)
  } catch (error) {
    // The others still run, and the document keeps the earlier table of this one.
    console.error(`${name}:`, error)
    process.exitCode = 1
  }
}
