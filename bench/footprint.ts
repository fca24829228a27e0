import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { privateBytes, residentBytes, RunningProgram } from './support/processes.ts'
import type { Row } from './support/row.ts'

const root = join(import.meta.dirname, '..')
const SETTLE_MS = 10_000
const STARTS = 7

type Named = Pick<Row, 'name' | 'ours' | 'peer'>

interface Way {
  readonly name: string
  readonly server: readonly string[]
  readonly agent: readonly string[]
  /** Maximum seconds for `--version`. */
  readonly version?: number
}

/** From a checkout; and, once `npm run package` has built them, the executable and the agent's package for npm. */
function waysIn(folder: string): Way[] {
  const own = [join(root, 'bin/adit')]
  const [executable] = globSync(join(root, 'dist/adit-*-linux-x64'))
  const [archive] = globSync(join(root, 'dist/adit-[0-9]*.tgz'))
  const ways: Way[] = [{ name: 'checkout', server: own, agent: own }]
  if (executable !== undefined)
    ways.push({ name: 'executable', server: [executable], agent: [executable], version: 0.15 })
  if (archive !== undefined) {
    execFileSync('tar', ['-xzf', archive, '-C', folder])
    // npm runs on the user's Node, and so does the package.
    const node = process.env['npm_node_execpath'] ?? 'node'
    ways.push({ name: 'npm package', server: own, agent: [node, join(folder, 'package/bin/adit.mjs')] })
  }
  return ways
}

const started = ([program = '', ...args]: readonly string[], environment: Record<string, string> = {}) =>
  new RunningProgram(program, args, environment)

const listeners = Object.fromEntries(
  ['API', 'HTTP', 'HTTPS', 'AGENT', 'SSH'].map(name => [`ADIT_${name}_ADDR`, '127.0.0.1:0']),
)

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** Median seconds from the start of a command to its first output. */
async function secondsUntil(pattern: RegExp, start: () => RunningProgram): Promise<number> {
  const times: number[] = []
  for (let at = 0; at < STARTS; at++) {
    const begun = performance.now()
    await using command = start()
    await printed(command, pattern)
    times.push((performance.now() - begun) / 1000)
  }
  return median(times)
}

/** Resolves at the first output, without the polling of `until`. */
async function printed(command: RunningProgram, pattern: RegExp): Promise<void> {
  while (!pattern.test(command.output)) {
    if (command.child.stdout?.closed === true) throw new Error(`it ended: ${command.output}`)
    await Promise.race([once(command.child.stdout ?? command.child, 'data'), once(command.child, 'close')])
  }
}

/** The cost of an idle program, and the time to its first output. */
export async function* footprint(): AsyncGenerator<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'adit-bench-'))
  const service = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
  await once(service, 'listening')
  const { port } = service.address() as AddressInfo
  try {
    for (const way of waysIn(folder)) yield* measured(way, port, join(folder, way.name))
  } finally {
    service.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function* measured(way: Way, port: number, dataDir: string): AsyncGenerator<Row> {
  const about = (name: string): Named => ({ name: `${way.name}: ${name}`, ours: '', peer: '' })
  yield {
    ...about('adit --version'),
    figure: await secondsUntil(/^\d/, () => started([...way.agent, '--version'])),
    unit: 's',
    ...(way.version !== undefined && { target: { atMost: way.version } }),
  }
  const environment = { ...listeners, ADIT_DATA_DIR: dataDir, ADIT_ACME_DIRECTORY: 'off' }
  await using server = started([...way.server, 'serve'], environment)
  await printed(server, /Press Ctrl-C/)
  const agent = () => started([...way.agent, 'http', String(port), '--log', 'text'], environment)
  yield {
    ...about('adit http until its URL'),
    figure: await secondsUntil(/url=http/, agent),
    unit: 's',
    target: { atMost: 0.6 },
  }
  await using idle = agent()
  await printed(idle, /url=http/)
  await setTimeout(SETTLE_MS)
  yield* idleMemory(about('idle agent'), idle.pid, 70)
  if (way.name !== 'npm package') yield* idleMemory(about('idle server'), server.pid, 120)
}

/** In megabytes. The pages of the program are counted, although all processes of a program share them. */
function* idleMemory(about: Named, pid: number, atMost: number): Generator<Row> {
  const unit = 'MB'
  yield { ...about, figure: residentBytes(pid) / 1e6, unit, target: { atMost } }
  yield { ...about, name: `${about.name}, not shared`, figure: privateBytes(pid) / 1e6, unit }
}
