import type { Adit } from '../adit.ts'
import { cellsOf } from '../edges/rated.ts'
import { type Figures, inTurn, seconds } from '../interleave.ts'
import type { Job, Load } from '../load.ts'
import { cpuSeconds } from '../processes.ts'
import { perSecond, type Row } from '../row.ts'
import { subscribe } from './subscribed.ts'
import type { Webhook } from './webhook.ts'

const TYPE = 'ip_policy_created.v0'
const CONNECTIONS = 64

/** The cost for changes of delivering each as an event. */
export async function* writes(adit: Adit, load: Load, webhook: Webhook): AsyncGenerator<Row> {
  const { api, child } = adit.process
  const until = { milliseconds: seconds * 1000 }
  const post = adit.post('/ip_policies', { description: 'bench' })
  const job: Job = { ...post, connections: CONNECTIONS, until }
  const rate = async (): Promise<Figures> => {
    const before = cpuSeconds([child.pid ?? -1])
    const measured = await load.run(job)
    const spent = cpuSeconds([child.pid ?? -1]) - before
    return { rate: measured.perSecond, cpu: (spent / (measured.perSecond * seconds)) * 1000 }
  }
  const withEvents = (target: object) => async (): Promise<Figures> => {
    await using _ = await subscribe(api, TYPE, target)
    return rate()
  }
  await webhook.ask({ work: 'take' })
  const runs = {
    none: rate,
    file: withEvents({ file: { path: 'bench/writes.jsonl' } }),
    hundreds: withEvents(webhook.target(100)),
    ones: withEvents(webhook.target(1)),
  }
  // Warm up the compiler.
  for (const each of Object.values(runs)) await each()
  const { none = [], ...others } = await inTurn(runs)
  const names = {
    file: 'to a file',
    hundreds: 'to a webhook, 100 in a POST',
    ones: 'to a webhook, a POST each',
  }
  for (const [key, where] of Object.entries(names)) {
    const name = `POST ip_policies with events ${where}, vs no subscription`
    const compared = { ours: others[key] ?? [], peer: none }
    yield { name, ...cellsOf(compared, 'rate', perSecond), target: { atLeast: 0.9 } }
    yield { name: `${name}, CPU/1k`, ...cellsOf(compared, 'cpu', value => `${value.toFixed(2)} s`) }
  }
}
