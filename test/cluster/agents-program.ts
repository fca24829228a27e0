import { Backoff } from '#agent/backoff.ts'
import { type AgentAddress, SdkAgent } from './sdk-agent.ts'

/** Agents in a process of their own, which ends with its parent. */
export interface AgentsJob {
  readonly addresses: readonly AgentAddress[]
  readonly authtoken: string
  readonly count: number
}

const AT_ONCE = 20

async function start({ addresses, authtoken, count }: AgentsJob): Promise<void> {
  // With the pauses between attempts that real agents make.
  const one = () => SdkAgent.startAt(addresses, authtoken, {}, { backoff: new Backoff(), resumes: true })
  for (let left = count; left > 0; left -= AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(left, AT_ONCE) }, one))
}

process.on('disconnect', () => process.exit())
process.on('message', (job: AgentsJob) => {
  start(job).then(
    () => process.send?.({}),
    (error: unknown) => process.send?.({ error: String(error) }),
  )
})
