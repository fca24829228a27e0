import { DeliveryError } from '#events/destination.ts'
import { buildDestination } from '#events/destinations/index.ts'
import type { EventTarget } from '#events/destinations/target.ts'
import { event, partsWith, send } from './support.ts'

// A program of its own: sends a batch of one event for each size given, and tells on standard error what became of it.
const [target = '{}', dataDir = '', ...sizes] = process.argv.slice(2)
const destination = buildDestination(JSON.parse(target) as Partial<EventTarget>, partsWith({ dataDir }))
for (const [at, size] of sizes.entries()) {
  const reported = await send(destination, [event(`ev_${at}`, { pad: Number(size) })]).then(
    () => 'taken',
    (error: unknown) =>
      error instanceof DeliveryError ? `${error.permanent} ${error.message}` : String(error),
  )
  console.error(reported)
}
