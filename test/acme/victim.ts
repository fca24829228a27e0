import { SHARED_LEASE_MS, World, type Place } from './world.ts'

/** Issues certificates until it is killed. Its challenges get no response, and it waits for long, so none is issued. */
const [folder = '', place = '{}', settings = '{}'] = process.argv.slice(2)
const world = await World.open(
  JSON.parse(place) as Place,
  JSON.parse(settings) as Record<string, string>,
  folder,
)
await world.issue({ settleMs: 60_000, leaseMs: SHARED_LEASE_MS })
await world.until(async () => (await world.rows('acme_challenge')).length > 2)
process.stdout.write('ready\n')
setInterval(() => undefined, 1000)
