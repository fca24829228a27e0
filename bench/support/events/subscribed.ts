import { setTimeout } from 'node:timers/promises'
import type { Caller } from '../../../test/support/server.ts'

const PATIENCE_MS = 10_000
const LOOK_MS = 20

/** A subscription to one event type with its own destination, until it is disposed of. */
interface Subscribed extends AsyncDisposable {
  readonly destinationId: string
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; !(await isSo()); await setTimeout(LOOK_MS))
    if (Date.now() > end) throw new Error(`${what} did not come about`)
}

async function make(api: Caller, path: string, body: object): Promise<string> {
  const answer = await api.post(path, body)
  if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body.id
}

async function isDelivering(api: Caller, subscription: string): Promise<boolean> {
  const { body } = await api.get('/event_deliveries')
  return body.event_deliveries.some(
    (each: { subscription: { id: string } }) => each.subscription.id === subscription,
  )
}

/** Resolves when events of the type are delivered. */
export async function subscribe(api: Caller, type: string, target: object): Promise<Subscribed> {
  const destinationId = await make(api, '/event_destinations', { target })
  const sources = [{ type }]
  const id = await make(api, '/event_subscriptions', { sources, destination_ids: [destinationId] })
  await until('the delivery of events', () => isDelivering(api, id))
  return {
    destinationId,
    async [Symbol.asyncDispose]() {
      await api.delete(`/event_subscriptions/${id}`)
      await until('the end of the delivery', async () => !(await isDelivering(api, id)))
      await api.delete(`/event_destinations/${destinationId}`)
    },
  }
}

interface Outcomes {
  readonly delivered: number
  readonly dropped: number
}

/** The results of all events so far. */
export async function outcomes(api: Caller): Promise<Outcomes> {
  const text = await (await fetch(`${api.url}/metrics`)).text()
  const of = (result: string): number =>
    Number(new RegExp(`^adit_event_delivery_total\\{result="${result}"\\} (\\d+)`, 'm').exec(text)?.[1] ?? 0)
  return { delivered: of('delivered'), dropped: of('dropped') }
}

/** How many of so many events were delivered, once all have a result. */
export async function deliveredSince(api: Caller, before: Outcomes, events: number): Promise<number> {
  let delivered = 0
  await until('the delivery of all events', async () => {
    const now = await outcomes(api)
    delivered = now.delivered - before.delivered
    return delivered + now.dropped - before.dropped >= events
  })
  return delivered
}
