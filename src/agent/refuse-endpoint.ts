import { AgentError } from '#agent/agent-error.ts'
import { Problem } from '#base/errors.ts'

/** Says why no gateway need be asked for such an endpoint, by throwing. */
export function refuseEndpoint(reason: string): never {
  throw AgentError.of(new Problem('agent_endpoint', { reason }), { permanent: true })
}
