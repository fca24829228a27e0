import { Agent } from '#agent/agent.ts'
import type { AgentOptions, ForwardOptions } from '#agent/options.ts'
import type { Tunnel } from '#agent/tunnel.ts'

// The public API of the package `adit`.
export { AgentError } from '#agent/agent-error.ts'
export { CaptureStore } from '#agent/capture/capture-store.ts'
export type { Agent } from '#agent/agent.ts'
export type * from '#agent/events.ts'
export type * from '#agent/options.ts'
export type { Tunnel } from '#agent/tunnel.ts'

/**
 * Signs in at a gateway and stays connected. An unreachable gateway is retried as long as `signal` allows; a permanent
 * error rejects with an AgentError.
 */
export const connect = (options: AgentOptions = {}): Promise<Agent> => Agent.connect(options)

/** Opens one endpoint with its own agent, which is closed with it. */
export async function forward(options: ForwardOptions): Promise<Tunnel> {
  const { onConnection, ...rest } = options
  const agent = await connect(rest)
  try {
    const tunnel = await agent.listen({ ...rest, onConnection })
    void tunnel.closed.then(() => agent.close())
    return tunnel
  } catch (error) {
    await agent.close()
    throw error
  }
}
