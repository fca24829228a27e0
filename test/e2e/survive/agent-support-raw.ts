import { type Gateway, TestAgent } from '../../gateway/agents/support.ts'
import type { GatewayProcess } from './agent-support.ts'

type Body = Record<string, unknown>

/** An agent that sends arbitrary messages, such as the session and tunnel ids of other agents. */
async function rawAgent(gateway: GatewayProcess): Promise<TestAgent & Disposable> {
  // Only the port and the root of the gateway are used.
  const where = { port: gateway.agentPort, rootPem: gateway.rootPem } as Gateway
  const agent = await TestAgent.connect(where)
  return Object.assign(agent, { [Symbol.dispose]: () => agent.drop() })
}

/** Signs in, under a session and with a cookie where they are given. */
export async function rawSignIn(
  gateway: GatewayProcess,
  token: string,
  claim: { readonly clientId?: string; readonly cookie?: string; readonly extra?: Body } = {},
): Promise<TestAgent & Disposable> {
  const agent = await rawAgent(gateway)
  agent.clientId = claim.clientId ?? ''
  agent.cookie = claim.cookie ?? ''
  const { Error: refusal } = await agent.auth(token, claim.extra)
  if (refusal !== '') throw new Error(refusal)
  return agent
}

export const numberIn = (refusal: string): number => Number(/ERR_[A-Z]+_(\d+)/.exec(refusal)?.[1])
