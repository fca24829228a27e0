import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { rounds, seconds } from './interleave.ts'
import { cells, type Row } from './row.ts'

const file = join(import.meta.dirname, '../../docs/benchmarks.md')

const INTRODUCTION = `# Benchmarks

Throughput, latency, CPU and memory of Adit beside other programs, written by \`npm run bench\`. Figures are medians of
interleaved rounds on one machine, so only the ratios are comparable elsewhere. \`npm run bench -- all --write\` writes
this whole page. "ours" is Adit; "ratio" is ours divided by the peer's unless it has a unit. Memory rows of short runs are
inexact, because these open few connections. A round of which the host of the machine took more than 3 % is repeated, up
to twice.

Peers of the tunnel are built from their registries at fixed versions. Two more were looked for: \`zrok\` is not in the Go
registry, and of \`newt\` only the agent is, not its server (Pangolin with Gerbil).
`

/** Before the benchmark adds its own load. */
const [loadBefore = 0] = loadavg()

/** A reader must know that others took a part of the machine. */
function busyNote(repeated: number): string {
  const ownLoad =
    loadBefore > availableParallelism() / 2
      ? ` The machine was busy: its load average was ${loadBefore.toFixed(1)} before the start.`
      : ''
  const hostLoad =
    repeated > 0 ? ` ${repeated} rounds were repeated, because the host took processor time from them.` : ''
  return ownLoad + hostLoad
}

const tableRow = (texts: readonly string[]): string =>
  `| ${texts.map(text => text.replaceAll('|', '\\|')).join(' | ')} |\n`

interface Run {
  readonly versions: string
  readonly seconds: number
  /** How many rounds were repeated. */
  readonly repeated: number
}

/** Replaces the section of a topic in docs/benchmarks.md, and leaves the others. */
export async function writeSection(
  topic: string,
  rows: readonly Row[],
  { versions, seconds: took, repeated }: Run,
): Promise<void> {
  const section =
    `## ${topic}\n\n` +
    `\`npm run bench -- ${topic} --write\`, ${rounds} rounds of ${seconds} s, ` +
    `${new Date().toISOString().slice(0, 10)}, ` +
    `Node ${process.version}, ${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), ` +
    `took ${took} s.${busyNote(repeated)}\n${versions}\n` +
    `\n${tableRow(['work', 'ours', 'peer', 'ratio', 'target', ''])}` +
    tableRow(['---', '---:', '---:', '---:', '---:', '---']) +
    rows.map(row => tableRow(cells(row))).join('')
  const before = existsSync(file) ? readFileSync(file, 'utf8') : INTRODUCTION
  const [introduction = INTRODUCTION, ...sections] = before.split(/^(?=## )/m)
  const others = sections.filter(each => !each.startsWith(`## ${topic}\n`))
  const all = [...others, section].toSorted().map(each => each.trimEnd())
  const text = [introduction.trimEnd(), ...all].join('\n\n')
  writeFileSync(file, await format(text, { ...(await resolveConfig(file)), parser: 'markdown' }))
}
