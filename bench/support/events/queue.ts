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

/**
 * Queued events for a recovering webhook, against loops that POST the same events to the same receiver: bare; with a
 * signature of each POST; and with one, reading the events from a database like ours and writing the position to it. The
 * last row is what a sender could reach.
 */
export async function* queue(adit: Adit, load: Load, webhook: Webhook): AsyncGenerator<Row> {
  const parts: Parts = { adit, load, webhook, file: join(adit.dataDir, 'posted.json') }
  const poster = program('post-program.ts')
  const posted = async (options: Omit<PostJob, 'port' | 'file'>): Promise<Figures> => {
    await webhook.ask({ work: 'take' })
    const job: PostJob = { port: webhook.port, file: parts.file, ...options }
    const { cpu } = await ask<PostFigures>(poster, job)
    const { milliseconds } = await webhook.until(EVENTS)
    return { rate: (EVENTS / milliseconds) * 1000, cpu }
  }
  try {
    for (const { size, target } of sizes) {
      const ours = (): Promise<Figures> => delivered(parts, size)
      const runs = {
        ours,
        bare: () => posted({ size, signed: false }),
        signed: () => posted({ size, signed: true }),
        stored: () => posted({ size, signed: true, database: join(adit.dataDir, 'posted.db') }),
      }
      // Warm up the compiler.
      for (const run of Object.values(runs)) await run()
      const results = await inTurn(runs)
      const name = `${EVENTS} queued events, ${size} in a POST, vs a bare loop of such POSTs`
      const rows = {
        bare: name,
        signed: `${name} with signatures`,
        stored: `${name} with signatures and the store`,
      }
      for (const [key, row] of Object.entries(rows)) {
        const compared = { ours: results['ours'] ?? [], peer: results[key] ?? [] }
        yield { name: row, ...cellsOf(compared, 'rate', perSecond), ...(key === 'bare' && target) }
        yield { name: `${row}, CPU`, ...cellsOf(compared, 'cpu', value => `${value.toFixed(2)} s`) }
      }
      const limit = { ours: results['stored'] ?? [], peer: results['bare'] ?? [] }
      yield {
        name: `the loop with signatures and the store, ${size} in a POST, vs the bare loop`,
        ...cellsOf(limit, 'rate', perSecond),
      }
    }
  } finally {
    poster.kill()
  }
}
