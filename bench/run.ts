import { parseArgs } from 'node:util'
import { api } from './api.ts'
import { capture } from './capture.ts'
import { certificates } from './certificates.ts'
import { edges } from './edges.ts'
import { events } from './events.ts'
import { footprint } from './footprint.ts'
import { scale } from './scale.ts'
import { writeSection } from './support/document.ts'
import { heading, render, type Row, type Topic } from './support/row.ts'
import { toolVersions } from './support/tools.ts'
import { tunnel } from './tunnel.ts'
import { workers } from './workers.ts'

/** The topics; `npm run bench -- NAME` runs only those whose name contains NAME. */
const topics: Readonly<Record<string, Topic>> = {
  api,
  capture,
  certificates,
  edges,
  events,
  footprint,
  scale,
  tunnel,
  workers,
}

// --write stores the table in docs/benchmarks.md.
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: 'boolean', default: false } },
})
const [wanted = ''] = positionals
console.log(heading())
for (const [name, measure] of Object.entries(topics)) {
  if (!name.includes(wanted)) continue
  const versions = ['tunnel', 'edges', 'events', 'workers'].includes(name) ? toolVersions() : ''
  if (versions) console.log(versions)
  const rows: Row[] = []
  for await (const row of measure()) {
    console.log(render(row))
    rows.push(row)
  }
  if (values.write) await writeSection(name, rows, versions)
}
