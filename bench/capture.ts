import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../test/support/free-ports.ts'
import { type Figures, interleave } from './support/interleave.ts'
import { aditTunnel, DOMAIN } from './support/peers/adit.ts'
import { upstream } from './support/peers/nginx.ts'
import { ask, program } from './support/programs.ts'
import { perSecond, type Row } from './support/row.ts'
import { type Workload, workloads } from './support/workloads.ts'

interface Target {
  readonly http: number
  readonly tcp: number
}

/** The same work with and without capture. */
interface Compared extends AsyncDisposable {
  readonly on: (work: Workload) => Promise<Figures>
  readonly off: (work: Workload) => Promise<Figures>
}

// Both sides of a comparison are the same processes: two pairs of them differ by more than a capture costs.

/** The agent captures for its inspector, as it does by default, but not what a second tunnel forwards. */
async function byAgent(folder: string, target: Target): Promise<Compared> {
  const web = `127.0.0.1:${await freePort()}`
  const tunnel = await aditTunnel(folder, target, { flags: ['--web-addr', web] })
  const name = 'not-inspected'
  const response = await fetch(`http://${web}/api/tunnels`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      name,
      proto: 'http',
      addr: target.http,
      subdomain: name,
      schemes: ['http', 'https'],
      inspect: false,
    }),
  })
  if (response.status !== 201) throw new Error(`no second tunnel: ${await response.text()}`)
  return {
    on: work => work.measure(tunnel.http, tunnel, folder),
    off: work => work.measure({ ...tunnel.http, host: `${name}.${DOMAIN}` }, tunnel, folder),
    [Symbol.asyncDispose]: () => tunnel[Symbol.asyncDispose](),
  }
}

/** The gateway captures while there is a rule for the host. */
async function byGateway(folder: string, target: Target): Promise<Compared> {
  const tunnel = await aditTunnel(folder, target, { flags: ['--inspect', 'off'] })
  const { api, http } = tunnel
  return {
    on: async work => {
      const { status, body } = await api.post('/captures', { host: http.host })
      if (status !== 201) throw new Error(`no capture: ${JSON.stringify(body)}`)
      const figures = await work.measure(http, tunnel, folder)
      await api.delete(`/captures/${body.id}`)
      return figures
    },
    off: work => work.measure(http, tunnel, folder),
    [Symbol.asyncDispose]: () => tunnel[Symbol.asyncDispose](),
  }
}

/** Requests of a tunnel that are captured, against those that are not. */
export async function* capture(): AsyncGenerator<Row> {
  await using parts = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'adit-bench-'))
  parts.defer(() => rmSync(folder, { recursive: true, force: true }))
  const http = parts.use(await upstream(folder))
  const tcp = program('tcp-upstream-program.ts')
  parts.defer(() => void tcp.kill())
  const { port } = await ask<{ port: number }>(tcp, {})
  for (const [place, start] of Object.entries({ agent: byAgent, gateway: byGateway })) {
    await using compared = await start(join(folder, place), { http: http.port, tcp: port })
    for (const work of workloads.filter(({ name }) => name.startsWith('small answers'))) {
      const measured = await interleave({ on: () => compared.on(work), off: () => compared.off(work) })
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
