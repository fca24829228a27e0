import { cellsOf, rate } from '../edges/rated.ts'
import type { Site } from '../edges/site.ts'
import { type Figures, inTurn, median, seconds } from '../interleave.ts'
import { perSecond, type Row } from '../row.ts'
import { deliveredSince, outcomes, subscribe } from './subscribed.ts'

const HOST = 'events.example.test'
const TYPE = 'http_request_complete.v0'
const TARGET = { file: { path: 'bench/requests.jsonl' } }

/** The cost for requests of writing each as an event to a file. */
export async function* traffic(site: Site): AsyncGenerator<Row> {
  const { world, group } = site
  const { api } = world.server
  await world.route(await world.edge([HOST]), '/small', group)
  await site.answers(`${HOST}/small/`)
  const rated = { site, address: site.addressOf(HOST), path: '/small/' }
  const unsubscribed = (): Promise<Figures> => rate(rated)
  const subscribed = async (): Promise<Figures> => {
    await using _ = await subscribe(api, TYPE, TARGET)
    const before = await outcomes(api)
    const figures = await rate(rated)
    const requests = Math.floor((figures['rate'] ?? 0) * seconds)
    return { ...figures, delivered: (await deliveredSince(api, before, requests)) / requests }
  }
  // Warm up the compiler.
  await unsubscribed()
  await subscribed()
  const results = await inTurn({ subscribed, unsubscribed })
  const compared = { ours: results['subscribed'] ?? [], peer: results['unsubscribed'] ?? [] }
  const name = 'requests with events to a file, vs no subscription'
  yield { name, ...cellsOf(compared, 'rate', perSecond), target: { atLeast: 0.9 } }
  yield { name: `${name}, CPU/10k`, ...cellsOf(compared, 'cpu', value => `${value.toFixed(2)} s`) }
  yield {
    name: 'the same, events in the file for each request',
    ours: '',
    peer: '',
    figure: median(compared.ours.map(({ delivered = Number.NaN }) => delivered)),
  }
}
