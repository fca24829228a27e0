import { join } from 'node:path'
import type { Adit } from '../adit.ts'
import { cellsOf } from '../edges/rated.ts'
import { type Figures, inTurn } from '../interleave.ts'
import type { Load } from '../load.ts'
import type { PostFigures, PostJob } from '../post-program.ts'
import { cpuSeconds } from '../processes.ts'
import { ask, program } from '../programs.ts'
import { perSecond, type Row } from '../row.ts'
import { subscribe } from './subscribed.ts'
import type { Webhook } from './webhook.ts'

const EVENTS = 10_000
const TYPE = 'ip_policy_created.v0'

/** Events per POST. One each is for information: the loop has neither signatures nor a cursor. */
const sizes: readonly { readonly size: number; readonly target?: Pick<Row, 'target'> }[] = [
  { size: 100, target: { target: { atLeast: 0.5 } } },
  { size: 1 },
]

interface Parts {
  readonly adit: Adit
  readonly load: Load
  readonly webhook: Webhook
  /** The bodies of the latest round, for the bare loop. */
  readonly file: string
}

/** Queues changes while the receiver rejects them, and measures when it accepts them again. */
async function delivered({ adit, load, webhook, file }: Parts, size: number): Promise<Figures> {
  const { api, child } = adit.process
  await webhook.ask({ work: 'refuse' })
  await using subscribed = await subscribe(api, TYPE, webhook.target(size))
  await adit.fill(load, EVENTS)
  await webhook.ask({ work: 'take' })
  const before = cpuSeconds([child.pid ?? -1])
  // A changed destination is retried at once, however long it has failed.
  await api.patch(`/event_destinations/${subscribed.destinationId}`, { description: 'It works again.' })
  const { milliseconds } = await webhook.until(EVENTS)
  const cpu = cpuSeconds([child.pid ?? -1]) - before
  const { posts, events } = await webhook.keep(file)
  if (events !== EVENTS) throw new Error(`${events} different events in ${posts} POSTs`)
  return { rate: (EVENTS / milliseconds) * 1000, cpu, posts }
}

/** Queued events for a recovering webhook, against a loop that POSTs the same events to the same receiver. */
export async function* queue(adit: Adit, load: Load, webhook: Webhook): AsyncGenerator<Row> {
  const parts: Parts = { adit, load, webhook, file: join(adit.dataDir, 'posted.json') }
  const poster = program('post-program.ts')
  const posted = async (size: number, signed: boolean): Promise<Figures> => {
    await webhook.ask({ work: 'take' })
    const job: PostJob = { port: webhook.port, file: parts.file, size, signed }
    const { cpu } = await ask<PostFigures>(poster, job)
    const { milliseconds } = await webhook.until(EVENTS)
    return { rate: (EVENTS / milliseconds) * 1000, cpu }
  }
  try {
    for (const { size, target } of sizes) {
      const ours = (): Promise<Figures> => delivered(parts, size)
      const bare = (): Promise<Figures> => posted(size, false)
      const signed = (): Promise<Figures> => posted(size, true)
      // Warm up the compiler.
      await ours()
      await bare()
      await signed()
      const results = await inTurn({ ours, bare, signed })
      const compared = { ours: results['ours'] ?? [], peer: results['bare'] ?? [] }
      const name = `${EVENTS} queued events, ${size} in a POST, vs a bare loop of such POSTs`
      yield { name, ...cellsOf(compared, 'rate', perSecond), ...target }
      yield { name: `${name}, CPU`, ...cellsOf(compared, 'cpu', value => `${value.toFixed(2)} s`) }
      const limit = { ours: compared.ours, peer: results['signed'] ?? [] }
      yield { name: `${name} with signatures`, ...cellsOf(limit, 'rate', perSecond) }
      yield {
        name: `${name} with signatures, CPU`,
        ...cellsOf(limit, 'cpu', value => `${value.toFixed(2)} s`),
      }
    }
  } finally {
    poster.kill()
  }
}
