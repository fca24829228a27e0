import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { interleave } from './support/interleave.ts'
import { aditTunnel, type AditOptions } from './support/peers/adit.ts'
import { upstream } from './support/peers/nginx.ts'
import { ask, program } from './support/programs.ts'
import { perSecond, type Row } from './support/row.ts'
import { workloads } from './support/workloads.ts'

const notInspected = { flags: ['--inspect', 'off'] }

/** What captures, and what it is compared with. */
const pairs: Readonly<Record<string, Readonly<Record<'on' | 'off', AditOptions>>>> = {
  // For its inspector, as it does by default.
  agent: { on: {}, off: notInspected },
  gateway: { on: { ...notInspected, environment: { ADIT_TRAFFIC_FULL_CAPTURE: 'on' } }, off: notInspected },
}

/** A tunnel whose requests are captured, against one whose requests are not. */
export async function* capture(): AsyncGenerator<Row> {
  await using parts = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'adit-bench-'))
  parts.defer(() => rmSync(folder, { recursive: true, force: true }))
  const http = parts.use(await upstream(folder))
  const tcp = program('tcp-upstream-program.ts')
  parts.defer(() => void tcp.kill())
  const { port } = await ask<{ port: number }>(tcp, {})
  const target = { http: http.port, tcp: port }
  for (const [place, options] of Object.entries(pairs)) {
    await using on = await aditTunnel(join(folder, `${place}-on`), target, options.on)
    await using off = await aditTunnel(join(folder, `${place}-off`), target, options.off)
    for (const work of workloads.filter(({ name }) => name.startsWith('small answers'))) {
      const measured = await interleave({
        on: () => work.measure(on.http, on, folder),
        off: () => work.measure(off.http, off, folder),
      })
      const name = `${work.name}, captured by the ${place}, vs not captured`
      const figure = (which: 'on' | 'off', key: string): number => measured[which]?.[key] ?? Number.NaN
      const [ours, peer] = [figure('on', 'perSecond'), figure('off', 'perSecond')]
      yield {
        name,
        ours: perSecond(ours),
        peer: perSecond(peer),
        figure: ours / peer,
        target: { atLeast: 0.85 },
      }
      // Of all processes; other work on the machine changes it less than the rate.
      const [spent, less] = [figure('on', 'cpu'), figure('off', 'cpu')]
      yield {
        name: `${name}, CPU/10k`,
        ours: `${spent.toFixed(2)} s`,
        peer: `${less.toFixed(2)} s`,
        figure: spent / less,
      }
    }
  }
}
