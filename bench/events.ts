import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Adit } from './support/adit.ts'
import { Site } from './support/edges/site.ts'
import { queue } from './support/events/queue.ts'
import { traffic } from './support/events/traffic.ts'
import { Webhook } from './support/events/webhook.ts'
import { writes } from './support/events/writes.ts'
import { Load } from './support/load.ts'
import { upstream } from './support/peers/nginx.ts'
import type { Row } from './support/row.ts'

/** BENCH_WORK=queue runs only workloads of that name. */
const wantedWork = process.env['BENCH_WORK'] ?? ''
const isWanted = (name: string): boolean => name.includes(wantedWork)

async function* requests(): AsyncGenerator<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'adit-bench-'))
  await using parts = new AsyncDisposableStack()
  parts.defer(() => rmSync(folder, { recursive: true, force: true }))
  const { port } = parts.use(await upstream(folder))
  yield* traffic(parts.use(await Site.start(join(folder, 'site'), port)))
}

async function* changes(): AsyncGenerator<Row> {
  using load = new Load()
  using webhook = await Webhook.start()
  const environment = { ADIT_EGRESS_ALLOW: '127.0.0.0/8', ADIT_LOG_LEVEL: 'error' }
  await using adit = await Adit.start(undefined, environment)
  if (isWanted('writes')) yield* writes(adit, load, webhook)
  if (isWanted('queue')) yield* queue(adit, load, webhook)
}

/** The cost of events for requests and changes, and the delivery rate. */
export async function* events(): AsyncGenerator<Row> {
  if (isWanted('requests')) yield* requests()
  if (isWanted('writes') || isWanted('queue')) yield* changes()
}
