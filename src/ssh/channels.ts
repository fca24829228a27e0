import type { Socket } from 'node:net'
import { duplexPair } from 'node:stream'
import type { Connection as SshClient, ServerChannel } from 'ssh2'
import { DialError } from '#registry/agent-dialer.ts'
import { clientNetwork } from '#base/client-network.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import { TunnelError } from '#tunnel/frame.ts'
import { type DuplexStream, fromDuplex } from '#tunnel/from-duplex.ts'
import { type StreamSlot, StreamSlots } from '#tunnel/stream-slots.ts'

export interface ChannelLimits {
  readonly channels: number
  /** Milliseconds for the ssh client to reach its upstream. */
  readonly openTimeout: number
}

/** A forwarded connection: the -R that it belongs to, and its client. */
interface ForwardedConnection {
  readonly boundAddr: string
  readonly boundPort: number
  readonly clientIp: string
  readonly clientPort: number
  /** Notifies that the client has disconnected. */
  readonly closed: () => void
}

/** ssh2 writes to the socket without backpressure, so we throttle writers ourselves. */
const SOCKET_BYTES = 1024 * 1024
/** ssh2's window per channel is 2 MiB; it does not enforce it. */
const UNREAD_BYTES = 4 * 1024 * 1024

/** The connections through one ssh connection. */
export class Channels {
  readonly #client: SshClient
  readonly #socket: Socket
  readonly #limits: ChannelLimits
  readonly #streams = new Set<DuplexStream>()
  /** Divided among the clients. */
  readonly #slots: StreamSlots
  #closed = false

  constructor(client: SshClient, socket: Socket, limits: ChannelLimits) {
    this.#client = client
    this.#socket = socket
    this.#limits = limits
    this.#slots = new StreamSlots(limits.channels)
    socket.on('drain', () => this.#streams.forEach(stream => stream.wake()))
    socket.on('data', () => this.#checkUnread())
  }

  get open(): number {
    return this.#slots.open
  }

  /** An ssh client that cannot reach its service gives a stream that ends without a byte. */
  async dial(forwarded: ForwardedConnection, first: Buffer): Promise<ByteStream> {
    if (this.#closed) throw new DialError('offline', 'the ssh connection is closed')
    const slot = this.#slots.take(clientNetwork(forwarded.clientIp))
    if (slot === undefined) throw new DialError('busy', 'the ssh connection is full')
    const channel = await this.#openChannel(forwarded)
    if (channel === undefined) {
      this.#slots.leave(slot)
      if (this.#closed) throw new DialError('offline', 'the ssh connection was closed')
      return unreachable()
    }
    channel.once('close', forwarded.closed)
    const stream = this.#adapt(channel, slot)
    if (first.length > 0) stream.write(first)
    return stream
  }

  /** The connection has closed, and all of these with it. */
  close(): void {
    this.#closed = true
    for (const stream of this.#streams)
      stream.fail(new TunnelError('session_closed', 'The ssh connection was closed.'))
    this.#streams.clear()
  }

  #openChannel({
    boundAddr,
    boundPort,
    clientIp,
    clientPort,
  }: ForwardedConnection): Promise<ServerChannel | undefined> {
    return new Promise(resolve => {
      let late = false
      const timer = setTimeout(() => {
        late = true
        resolve(undefined)
      }, this.#limits.openTimeout)
      this.#client.forwardOut(boundAddr, boundPort, clientIp, clientPort, (error, channel) => {
        clearTimeout(timer)
        if (late) channel?.destroy()
        else resolve(error ? undefined : channel)
      })
    })
  }

  #adapt(channel: ServerChannel, slot: StreamSlot): DuplexStream {
    const stream = fromDuplex(channel, {
      // `end` of a server channel closes both directions; only EOF is wanted here.
      finish: () => channel.eof(),
      release: () => channel.end(),
      full: () => this.#socket.writableLength > SOCKET_BYTES,
      hold: client => this.#slots.hold(slot, client),
      rest: () => this.#slots.rest(slot),
      evicted: () => this.#slots.evacuate(slot),
    })
    slot.occupant = stream
    this.#streams.add(stream)
    channel.once('close', () => {
      this.#slots.leave(slot)
      this.#streams.delete(stream)
    })
    return stream
  }

  #checkUnread(): void {
    for (const stream of this.#streams) if (stream.waiting > UNREAD_BYTES) this.#socket.destroy()
  }
}

function unreachable(): ByteStream {
  const [near, far] = duplexPair()
  far.resume().end()
  return fromDuplex(near)
}
