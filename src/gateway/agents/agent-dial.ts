import type { TunnelRecord } from '#registry/directory.ts'
import { DialError } from '#registry/agent-dialer.ts'
import { baseId } from '#registry/agent-connections.ts'
import { clientOf } from '#base/client-network.ts'
import { RetriedStream } from '#gateway/agents/retried-stream.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import { TunnelError } from '#tunnel/frame.ts'
import type { ProxyHeader } from '#tunnel/messages.ts'
import { encodeProxyHeader } from '#tunnel/proxy-header.ts'
import type { MuxSession } from '#tunnel/mux-session.ts'
import { streamTypes } from '#tunnel/stream-types.ts'

/** How long a client that has used its share of an agent's connections waits for one of them to close. */
const WAIT_MS = 10_000

interface AgentDial {
  readonly tunnel: TunnelRecord
  readonly header: ProxyHeader
  readonly first: Buffer
  /** The agent resets some streams of a burst, which may be retried once. */
  readonly retries: boolean
}

/** Opens a connection through an agent. Type, header and the first bytes are sent in one frame. */
export async function dialAgent(session: MuxSession, dial: AgentDial): Promise<ByteStream> {
  const { tunnel, header, first, retries } = dial
  const bytes = Buffer.concat([encodeProxyHeader({ ...header, Id: baseId(tunnel.id) }), first])
  const client = clientOf(header.ClientAddr)
  const stream = await open(session, bytes, client)
  return retries ? new RetriedStream(stream, () => open(session, bytes, client)) : stream
}

async function open(session: MuxSession, bytes: Buffer, client: string): Promise<ByteStream> {
  try {
    return await session.open(streamTypes.proxy, bytes, { client, waitMs: WAIT_MS })
  } catch (error) {
    const isBusy = error instanceof TunnelError && error.code === 'streams_exhausted'
    throw isBusy
      ? new DialError('busy', 'The agent has reached its connection limit.', error)
      : new DialError('offline', 'The agent is no longer connected.', error)
  }
}
