import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { interleave } from './support/interleave.ts'
import { aditTunnel } from './support/peers/adit.ts'
import { upstream } from './support/peers/nginx.ts'
import { ask, program } from './support/programs.ts'
import { perSecond, type Row } from './support/row.ts'
import { works } from './support/works.ts'

/** An agent that captures requests for its inspector, as it does by default, against one that does not. */
export async function* capture(): AsyncGenerator<Row> {
  await using parts = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'adit-bench-'))
  parts.defer(() => rmSync(folder, { recursive: true, force: true }))
  const http = parts.use(await upstream(folder))
  const tcp = program('tcp-upstream-program.ts')
  parts.defer(() => void tcp.kill())
  const { port } = await ask<{ port: number }>(tcp, {})
  const target = { http: http.port, tcp: port }
  const on = parts.use(await aditTunnel(join(folder, 'on'), target))
  const off = parts.use(await aditTunnel(join(folder, 'off'), target, { flags: ['--inspect', 'off'] }))
  for (const work of works.filter(({ name }) => name.startsWith('small answers'))) {
    const measured = await interleave({
      on: () => work.measure(on.http, on, folder),
      off: () => work.measure(off.http, off, folder),
    })
    const [ours = Number.NaN, peer = Number.NaN] = [
      measured['on']?.['perSecond'],
      measured['off']?.['perSecond'],
    ]
    yield {
      name: `${work.name}, captured, vs not captured`,
      ours: perSecond(ours),
      peer: perSecond(peer),
      figure: ours / peer,
      target: { atLeast: 0.85 },
    }
  }
}
