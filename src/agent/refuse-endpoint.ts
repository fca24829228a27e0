import { AgentError } from '#agent/agent-error.ts'
import { Problem } from '#base/errors.ts'

/** Throws a permanent error for invalid endpoint options. */
export function refuseEndpoint(reason: string): never {
  throw AgentError.of(new Problem('agent_endpoint', { reason }), { permanent: true })
}
