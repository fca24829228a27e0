import type { ByteStream, Sink } from '#tunnel/byte-stream.ts'
import type { TunnelError } from '#tunnel/frame.ts'
import type { TunnelStream } from '#tunnel/stream.ts'

/** Copies one stream to another, at the pace of the slower one. */
function sinkInto(from: ByteStream, to: ByteStream, failed: (error: TunnelError) => void): Sink {
  return {
    data: bytes => {
      if (!to.write(bytes, true)) from.pause()
    },
    end: () => to.end(),
    writable: () => to.resume(),
    closed: error => {
      if (error !== undefined) failed(error)
    },
  }
}

/**
 * Connects the stream of another process with that of an agent: data and ends go both ways. If the agent's fails, the
 * other process gets the reason, because a request whose agent was lost must not be sent again.
 */
export function join(process: TunnelStream, agent: ByteStream): void {
  process.attach(sinkInto(process, agent, () => agent.abort()))
  agent.attach(sinkInto(agent, process, ({ code }) => process.reset(code)))
}
