import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compression } from './support/edges/compression.ts'
import { lookup } from './support/edges/lookup.ts'
import { modules } from './support/edges/modules.ts'
import { Site } from './support/edges/site.ts'
import { upstream } from './support/peers/nginx.ts'
import type { Row } from './support/row.ts'

/** BENCH_WORK=lookup runs only workloads of that name. */
const wantedWork = process.env['BENCH_WORK'] ?? ''
const isWanted = (name: string): boolean => name.includes(wantedWork)

/** The cost of edges, their modules and their number. */
export async function* edges(): AsyncGenerator<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'adit-bench-'))
  await using parts = new AsyncDisposableStack()
  parts.defer(() => rmSync(folder, { recursive: true, force: true }))
  const { port } = parts.use(await upstream(folder))
  if (isWanted('modules') || isWanted('compression')) {
    await using site = await Site.start(join(folder, 'site'), port)
    if (isWanted('modules')) yield* modules(site)
    if (isWanted('compression')) yield* compression(site, folder)
  }
  if (isWanted('lookup')) yield* lookup(folder, port)
}
