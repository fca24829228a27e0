import type { Figures } from '../interleave.ts'
import type { RunningProgram } from '../processes.ts'
import { splitArguments } from '../processes.ts'
import { needTool } from '../tools.ts'
import type { Link } from './link.ts'

export interface Source {
  readonly address: string
  readonly host: string
}

/** Jain's index of fairness: 1 if all have the same, 1/n if one has everything. */
function fairness(shares: readonly number[]): number {
  const sum = shares.reduce((all, share) => all + share, 0)
  const squares = shares.reduce((all, share) => all + share * share, 0)
  return (sum * sum) / (shares.length * squares)
}

/** So many endless downloads by curl for some seconds, a connection each. */
export async function downloads(
  link: Link,
  { address, host }: Source,
  count: number,
  seconds: number,
): Promise<Figures> {
  const line = `-f --no-progress-meter --parallel --parallel-immediate --parallel-max ${count} --max-time ${seconds} -o /dev/null`
  const args = [...splitArguments(line), '-w', '%{http_code} %{size_download}\\n', '-H', `Host: ${host}`]
  const curl = link.start('near', needTool('curl'), [...args, `http://${address}/[1-${count}]`])
  await ended(curl)
  // The status is 000 for one that got no byte in all the time.
  const sizes = [...curl.output.matchAll(/^(?:200|000) (\d+)$/gm)].map(([, size]) => Number(size))
  if (sizes.length !== count) throw new Error(`curl: ${curl.output.slice(-500)}`)
  const sum = sizes.reduce((all, size) => all + size, 0)
  return { rate: sum / seconds, fairness: fairness(sizes) }
}

/** It ends by its time limit, which is an error for it. */
async function ended({ child }: RunningProgram): Promise<void> {
  if (child.exitCode === null) await new Promise(resolve => child.once('close', resolve))
}
