import { World, type Place } from './world.ts'

/** Issues certificates until it is killed. Nobody answers its challenges, so it does not get far. */
const [folder = '', place = '{}'] = process.argv.slice(2)
const world = await World.open(JSON.parse(place) as Place, {}, folder)
await world.issue({ settleMs: 60_000 })
setInterval(() => undefined, 1000)
