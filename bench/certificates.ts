import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Domain, AditHost, makeDomains } from './support/certificates/domains.ts'
import { type HandshakeTarget, HandshakeLoad } from './support/certificates/handshake-load.ts'
import { cellsOf } from './support/edges/rated.ts'
import { inTurn } from './support/interleave.ts'
import { ask, program } from './support/programs.ts'
import { perSecond, type Row } from './support/row.ts'
import type { TlsPeerJob } from './support/tls-peer-program.ts'

const DOMAINS = 1000

/** As often as there are others, so that a round warms all servers alike. */
const onlyName = (name: string): string[] => Array.from({ length: DOMAINS }, () => name)

/** A bare `node:tls` server with one certificate. */
async function barePeer(parts: AsyncDisposableStack, { name, leaf }: Domain): Promise<HandshakeTarget> {
  const child = program('tls-peer-program.ts')
  parts.defer(() => void child.kill())
  const job: TlsPeerJob = { cert: leaf.certificatePem, key: leaf.privateKeyPem.reveal() }
  const { port } = await ask<{ port: number }>(child, job)
  return { pid: child.pid ?? -1, port, names: onlyName(name) }
}

interface Servers {
  readonly many: HandshakeTarget
  readonly one: HandshakeTarget
  readonly bare: HandshakeTarget
}

async function* handshakes(
  load: HandshakeLoad,
  work: 'full' | 'resumed',
  servers: Servers,
): AsyncGenerator<Row> {
  // Repeated before each workload, as tickets last only for minutes.
  for (const each of Object.values(servers)) await load.visit(each)
  // Warm up the compiler.
  for (const each of Object.values(servers)) await load.rate(work, each)
  const runs = Object.entries(servers).map(([name, each]) => [name, () => load.rate(work, each)] as const)
  const { many = [], one = [], bare = [] } = await inTurn(Object.fromEntries(runs))
  const against = [
    { name: 'vs a server with 1', peer: one, atLeast: 0.95 },
    { name: 'vs bare node:tls with 1', peer: bare, atLeast: 0.95 },
  ]
  for (const { name, peer, atLeast } of against) {
    const title = `${work} handshakes, ${DOMAINS} cert., ${name}`
    const compared = { ours: many, peer }
    yield { name: title, ...cellsOf(compared, 'rate', perSecond), target: { atLeast } }
    yield { name: `${title}, CPU/1k`, ...cellsOf(compared, 'cpu', value => `${value.toFixed(2)} s`) }
  }
}

/** The cost of many domains with certificates at the start and in each handshake. */
export async function* certificates(): AsyncGenerator<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'adit-bench-'))
  await using parts = new AsyncDisposableStack()
  parts.defer(() => rmSync(folder, { recursive: true, force: true }))
  const domains = await makeDomains(DOMAINS)
  const [first] = domains
  if (first === undefined) throw new Error('there are no domains')
  const hosted = async (name: string, served: readonly Domain[]): Promise<AditHost> =>
    parts.use(await AditHost.start(join(folder, name), served))
  const many = await hosted('many', domains)
  const one = await hosted('one', [first])
  yield {
    name: `start until /readyz, ${DOMAINS} domains with certificates, vs 1`,
    ours: `${many.seconds.toFixed(2)} s`,
    peer: `${one.seconds.toFixed(2)} s`,
    figure: many.seconds,
    unit: 's',
    target: { atMost: 3 },
  }
  const servers: Servers = {
    many: { pid: many.pid, port: many.port, names: domains.map(({ name }) => name) },
    one: { pid: one.pid, port: one.port, names: onlyName(first.name) },
    bare: await barePeer(parts, first),
  }
  using load = new HandshakeLoad()
  yield* handshakes(load, 'full', servers)
  yield* handshakes(load, 'resumed', servers)
}
