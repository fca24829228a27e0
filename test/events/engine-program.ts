import { randomBytes } from 'node:crypto'
import { createLog } from '#base/log.ts'
import { Sealer } from '#base/secrets.ts'
import { EventEngine } from '#events/engine.ts'
import { openPostgres } from '#store/postgres.ts'
import { fastDelivery, httpDestination } from './support.ts'

// The delivery of events as a process of its own, which a test can stop and kill; see `EngineProcess`.
const [url = '', name = '', leaseMs = ''] = process.argv.slice(2)
const engine = new EventEngine({
  store: await openPostgres(url),
  sealer: new Sealer(randomBytes(32)),
  accountId: 'ac_test',
  build: target =>
    httpDestination(`${target.webhook?.url ?? ''}?from=${name}`, { maxEvents: 20, maxBytes: 1_000_000 }),
  log: createLog('silent'),
  now: Date.now,
  timings: { ...fastDelivery, leaseMs: Number(leaseMs) },
})
await engine.start()
process.on('message', () => process.send?.({ delivers: /^adit_event_delivers 1$/m.test(engine.metrics()) }))
process.send?.({ delivers: false })
