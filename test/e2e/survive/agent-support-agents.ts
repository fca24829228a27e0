import {
  type Agent,
  type AgentOptions,
  type AgentStatus,
  connect,
  type EndpointOptions,
} from '#agent/index.ts'

/** The job of the program: one agent for each list of endpoints. */
export interface AgentsJob {
  readonly agent: Pick<AgentOptions, 'server' | 'authtoken' | 'ca' | 'retry' | 'heartbeat' | 'metadata'>
  readonly endpoints: readonly (readonly EndpointOptions[])[]
  /** How many may sign in at the same time at the beginning. */
  readonly atOnce?: number
}

/** The reports of the program; all times are milliseconds since 1970. */
export type Report =
  | { readonly is: 'online'; readonly at: number }
  | { readonly is: 'lost'; readonly at: number; readonly retryInMs: number; readonly reason: string }
  | { readonly is: 'ready'; readonly urls: readonly string[]; readonly sessions: readonly string[] }
  | { readonly is: 'failed'; readonly reason: string }

const tell = (report: Report): void => void process.send?.(report)

function onStatus(): (status: AgentStatus) => void {
  let wasOnline = true
  return ({ state, error, retryInMs = 0 }) => {
    if (state === 'reconnecting') {
      // Only the first attempt after each loss is reported; the others belong to the same loss.
      if (wasOnline) tell({ is: 'lost', at: Date.now(), retryInMs, reason: error?.message ?? '' })
      wasOnline = false
    } else if (state === 'online') {
      wasOnline = true
      tell({ is: 'online', at: Date.now() })
    }
  }
}

async function open(order: AgentsJob, endpoints: readonly EndpointOptions[]): Promise<[Agent, string[]]> {
  const agent = await connect({ ...order.agent, onStatus: onStatus() })
  const urls: string[] = []
  for (const endpoint of endpoints) urls.push((await agent.listen(endpoint)).url)
  return [agent, urls]
}

async function run(order: AgentsJob): Promise<void> {
  const { endpoints, atOnce = 32 } = order
  const rest = [...endpoints.entries()]
  const urls: string[][] = []
  const agents: Agent[] = []
  const work = async (): Promise<void> => {
    for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
      const [at, wanted] = next
      const [agent, opened] = await open(order, wanted)
      agents[at] = agent
      urls[at] = opened
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, endpoints.length) }, work))
  tell({ is: 'ready', urls: urls.flat(), sessions: agents.map(({ sessionId }) => sessionId) })
}

process.on('disconnect', () => process.exit())
process.once('message', (order: AgentsJob) => {
  run(order).catch((error: unknown) =>
    tell({ is: 'failed', reason: error instanceof Error ? error.message : String(error) }),
  )
})
