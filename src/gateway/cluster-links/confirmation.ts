import { DialError } from '#registry/agent-dialer.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import type { TunnelErrorCode } from '#tunnel/frame.ts'
import type { TunnelStream } from '#tunnel/stream.ts'

const CONFIRMED = Buffer.of(1)

/** How a process resets a connection of which the agent has got nothing. */
const codes = { offline: 'stream_refused', busy: 'streams_exhausted' } as const satisfies Record<
  DialError['code'],
  TunnelErrorCode
>

/** The agent has got a connection that another process forwards. */
export const confirm = (stream: TunnelStream): boolean => stream.write(CONFIRMED)

/** The agent has not got it, and never will. */
export const refuse = (stream: TunnelStream, reason: DialError['code']): void => stream.reset(codes[reason])

const isRefusal = (code: TunnelErrorCode | undefined): code is (typeof codes)[DialError['code']] =>
  code === codes.offline || code === codes.busy

/**
 * Resolves once the other process has confirmed a connection, and rejects with a DialError when it refuses. If the link
 * is lost before that, the agent may have got it: the connection is returned, and has ended.
 */
export function whenConfirmed(stream: TunnelStream): Promise<ByteStream> {
  const { promise, resolve, reject } = Promise.withResolvers<ByteStream>()
  stream.attach({
    data: bytes => {
      stream.detach(bytes.subarray(CONFIRMED.length))
      resolve(stream)
    },
    // It is reset, or confirmed before its end.
    end: () => undefined,
    closed: error => {
      if (!isRefusal(error?.code)) return resolve(stream)
      const reason = error?.code === codes.busy ? 'busy' : 'offline'
      reject(new DialError(reason, 'The process of the agent has refused the connection.', error))
    },
  })
  return promise
}
