import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { interleave, type Figures } from './support/interleave.ts'
import { memory } from './support/memory.ts'
import { aditTunnel, type AditTunnel } from './support/peers/adit.ts'
import {
  BARE,
  BARE_HTTP,
  BARE_PIPES,
  bareNode,
  bareNodeHttp,
  bareNodePipes,
} from './support/peers/bare-node.ts'
import { bore } from './support/peers/bore.ts'
import { chisel } from './support/peers/chisel.ts'
import type { Contender, Upstream } from './support/peers/contender.ts'
import { frp, frpFastest } from './support/peers/frp.ts'
import { localtunnel } from './support/peers/localtunnel.ts'
import { nginxProxy, nginxTwice, upstream } from './support/peers/nginx.ts'
import { rathole } from './support/peers/rathole.ts'
import { sshReverse } from './support/peers/ssh.ts'
import { stunnelPair } from './support/peers/stunnel.ts'
import { ask, program } from './support/programs.ts'
import { ABSENT, type Row } from './support/row.ts'
import { missingTools } from './support/tools.ts'
import { type Figure, type Workload, workloads } from './support/workloads.ts'

/** BENCH_PEERS=nginx,frp selects peers, BENCH_WORK=TCP selects workloads by name. */
const chosen = (process.env['BENCH_PEERS'] ?? '').split(',').filter(Boolean)
const wantedWork = process.env['BENCH_WORK'] ?? ''

/** Not peers to be ahead of: they show what a product in Node could reach. */
const limits = [BARE, BARE_HTTP, BARE_PIPES]

type Start = (folder: string, upstream: Upstream) => Promise<Contender>

const peers: Readonly<Record<string, Start>> = {
  nginx: (folder, target) => nginxProxy('nginx', folder, target),
  'nginx -> nginx': nginxTwice,
  'ssh -R': sshReverse,
  localtunnel,
  frp,
  'frp fastest': frpFastest,
  chisel,
  rathole,
  bore,
  'stunnel pair': stunnelPair,
  [BARE]: bareNode,
  [BARE_HTTP]: bareNodeHttp,
  [BARE_PIPES]: bareNodePipes,
}

const absence = (name: string, error: unknown): Row => ({
  name: `${name}: ${String(error).split('\n')[0]?.slice(0, 200)}`,
  ours: '',
  peer: ABSENT,
  figure: Number.NaN,
})

/** Everything that runs while the benchmark does. */
class Field implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'adit-bench-'))
  readonly #parts = new AsyncDisposableStack()
  readonly contenders: Contender[] = []
  /** A row for each peer that could not be started. */
  readonly absent: Row[] = []
  adit: AditTunnel | undefined

  async start(): Promise<void> {
    const http = this.#parts.use(await upstream(this.folder))
    const tcp = await this.#service('tcp-upstream-program.ts')
    const grpc = await this.#service('grpc-upstream-program.ts')
    const target = { http: http.port, tcp, grpc }
    this.adit = await this.#try('adit', () => aditTunnel(this.folder, target))
    for (const [name, start] of Object.entries(peers))
      if (chosen.length === 0 || chosen.includes(name))
        await this.#try(name, () => start(this.folder, target))
  }

  /** Starts a service of the peers and returns its port. */
  async #service(file: string): Promise<number> {
    const child = program(file)
    this.#parts.defer(() => void child.kill())
    return (await ask<{ port: number }>(child, {})).port
  }

  async #try<C extends Contender>(name: string, start: () => Promise<C>): Promise<C | undefined> {
    try {
      const contender = this.#parts.use(await start())
      this.contenders.push(contender)
      return contender
    } catch (error) {
      this.absent.push(absence(name, error))
      return undefined
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

function compared(work: Workload, shown: Figure, ours: number, peer: string, theirs: number): Row {
  const label = shown.label === undefined ? '' : `, ${shown.label}`
  const target = limits.includes(peer) ? undefined : (shown.targets?.[peer] ?? shown.others)
  const text = (value: number) => (Number.isNaN(value) ? ABSENT : shown.show(value))
  return {
    name: `${work.name}${label}, vs ${peer}`,
    ours: text(ours),
    peer: text(theirs),
    figure: ours / theirs,
    ...(target && { target }),
  }
}

function* rowsOf(work: Workload, results: Readonly<Record<string, Figures>>): Generator<Row> {
  for (const shown of work.shown) {
    const of = (name: string) => results[name]?.[shown.key] ?? Number.NaN
    for (const peer of Object.keys(peers)) {
      const isWanted = shown.only === undefined || shown.only.includes(peer)
      if (results[peer] && isWanted) yield compared(work, shown, of('adit'), peer, of(peer))
    }
  }
  for (const { key, label, unit, target } of work.absolute ?? []) {
    const figure = results['adit']?.[key] ?? Number.NaN
    const of = limits.flatMap(limit => {
      const value = results[limit]?.[key]
      return value === undefined ? [] : [`${value.toFixed(2)} ${unit} of ${limit}`]
    })
    yield { name: `${work.name}, ${label}`, ours: '', peer: of.join(', '), figure, unit, target }
  }
}

/** The complete path through the tunnel against everything that does the same. */
export async function* tunnel(): AsyncGenerator<Row> {
  const missing = missingTools()
  if (missing !== undefined) console.error(`  ${missing}`)
  await using field = new Field()
  await field.start()
  yield* field.absent
  for (const work of workloads) {
    if (!work.name.includes(wantedWork)) continue
    const able = field.contenders.flatMap(contender => {
      const address = contender[work.protocol]
      return address ? [[contender.name, () => work.measure(address, contender, field.folder)] as const] : []
    })
    yield* rowsOf(work, await interleave(Object.fromEntries(able)))
  }
  if (field.adit && 'memory'.includes(wantedWork)) yield* memory(field.adit)
}
