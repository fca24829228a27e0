import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { interleave } from './support/interleave.ts'
import { aditTunnel } from './support/peers/adit.ts'
import type { Contender } from './support/peers/contender.ts'
import { upstream } from './support/peers/nginx.ts'
import { ask, program } from './support/programs.ts'
import type { Row } from './support/row.ts'
import { workloads } from './support/workloads.ts'

const COUNTS = [1, 2, 4] as const
/** Requests, transfers and handshakes: what processes can share. */
const COMPARED = new Set([
  'small answers, 64 connections',
  '10 MiB down, 4 connections',
  'HTTPS, small, 64 connections',
  'HTTPS, a handshake per request, 16',
])

const nameOf = (count: number): string => `${count} ${count === 1 ? 'process' : 'processes'}`

/** Adit with several gateway processes against Adit with one; they cannot gain more than the machine has cores. */
export async function* workers(): AsyncGenerator<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'adit-bench-'))
  await using parts = new AsyncDisposableStack()
  parts.defer(() => rmSync(folder, { recursive: true, force: true }))
  const http = parts.use(await upstream(folder))
  const tcp = program('tcp-upstream-program.ts')
  parts.defer(() => void tcp.kill())
  const { port } = await ask<{ port: number }>(tcp, {})
  const contenders = new Map<number, Contender>()
  for (const count of COUNTS) {
    const own = join(folder, String(count))
    mkdirSync(own)
    const environment = { ADIT_WORKERS: String(count) }
    contenders.set(count, parts.use(await aditTunnel(own, { http: http.port, tcp: port }, { environment })))
  }
  for (const work of workloads.filter(({ name }) => COMPARED.has(name))) {
    const able = [...contenders].flatMap(([count, contender]) => {
      const address = contender[work.protocol]
      return address ? [[nameOf(count), () => work.measure(address, contender, folder)] as const] : []
    })
    const results = await interleave(Object.fromEntries(able))
    const [shown] = work.shown
    if (shown === undefined) continue
    const of = (count: number): number => results[nameOf(count)]?.[shown.key] ?? Number.NaN
    for (const count of COUNTS.slice(1))
      yield {
        name: `${work.name}, ${nameOf(count)} vs one`,
        ours: shown.show(of(count)),
        peer: shown.show(of(1)),
        figure: of(count) / of(1),
      }
  }
}
