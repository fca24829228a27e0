import type { GatewayInfo } from '#registry/gateway-info.ts'
import type { OtherNodes } from '#registry/other-nodes.ts'
import { type ConnectAddresses, type ConnectAddressesRequest, plainAnswer } from '#tunnel/messages.ts'
import type { MuxSession } from '#tunnel/mux-session.ts'
import { call } from '#tunnel/rpc.ts'
import { streamTypes } from '#tunnel/stream-types.ts'

/** More than an agent tries. */
const MAX_ADDRESSES = 16
const ANSWER_MS = 5000

export interface ConnectAddressesOptions {
  readonly info: GatewayInfo
  readonly otherNodes?: OtherNodes | undefined
}

/**
 * Where an agent can have a second connection: empty if there is no second process or node for it. An empty address is
 * the one that the agent dialled, which it knows better; so only Adit agents get the offer.
 */
export function connectAddresses(
  userAgent: string,
  { info, otherNodes }: ConnectAddressesOptions,
): ConnectAddresses {
  if (!userAgent.startsWith('adit/')) return []
  // In a cluster another worker does not count: it is lost with its node.
  const others = otherNodes?.agentAddresses() ?? (info.workers > 1 ? [''] : [])
  if (others.length === 0) return []
  return ['', ...others.slice(0, MAX_ADDRESSES)].map(ServerAddr => ({ Region: info.region, ServerAddr }))
}

/** Sends them to an agent that has signed in with others. An earlier version rejects them, and keeps what it has. */
export async function sendConnectAddresses(session: MuxSession, addresses: ConnectAddresses): Promise<void> {
  const request: ConnectAddressesRequest = { ConnectAddresses: addresses }
  const type = streamTypes.connectAddresses
  await call(session, { type, request, answer: plainAnswer }, { deadlineMs: ANSWER_MS }).catch(
    () => undefined,
  )
}
