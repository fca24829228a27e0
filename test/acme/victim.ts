import { World, type Place } from './world.ts'

/** Issues certificates until it is killed. Nobody answers its challenges, and it waits for long, so none comes of it. */
const [folder = '', place = '{}'] = process.argv.slice(2)
const world = await World.open(JSON.parse(place) as Place, {}, folder)
await world.issue({ settleMs: 60_000 })
await world.until(async () => (await world.rows('acme_challenge')).length > 2)
process.stdout.write('ready\n')
setInterval(() => undefined, 1000)
