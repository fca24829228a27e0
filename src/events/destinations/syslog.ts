import { hostname } from 'node:os'
import type { Socket } from 'node:net'
import { parseHostPort } from '#base/hosts.ts'
import { EgressError } from '#base/egress.ts'
import { within } from '#base/egress/deadline.ts'
import type { Destination, DestinationParts, OutgoingEvent } from '#events/destination.ts'
import { unanswered, unusable } from '#events/destinations/failures.ts'
import { sendWithoutOversized } from '#events/destinations/split-oversized.ts'
import type { TargetOf } from '#events/destinations/target.ts'

const SERVICE = 'The syslog server'
const WRITE_MS = 15_000
const MAX_EVENTS = 500
const MAX_BYTES = 1_048_576
/** RFC 5425 requires 8 KiB and leaves more to the receiver; most accept this. */
const MAX_EVENT = 65_536 - 512
// Facility local0, severity informational.
const PRIORITY = 16 * 8 + 6
const NIL = '-'

const printable = (text: string, most: number): string =>
  text.replace(/[^\x21-\x7e]/g, '_').slice(0, most) || NIL

/** RFC 5424 with the length before each message (RFC 5425 over TLS, RFC 6587 over TCP). */
export function syslog(
  { address, tls }: TargetOf<'syslog'>,
  parts: DestinationParts,
  { writeMs = WRITE_MS }: { readonly writeMs?: number } = {},
): Destination {
  const place = parseHostPort(address)
  if (!place) throw unusable('The address of the syslog server is not host:port.')
  const target = { ...place, ...(tls && { tls: { serverName: place.host } }) }
  const line = new SyslogLine(() => parts.egress.connect(target), writeMs)
  const source = `${printable(hostname(), 255)} adit ${process.pid}`
  return {
    maxEvents: MAX_EVENTS,
    maxBytes: MAX_BYTES,
    send: (batch, signal) =>
      sendWithoutOversized(batch, { most: MAX_EVENT, service: SERVICE }, async events => {
        const messages = Buffer.concat(events.map(event => framed(event, source, parts.now())))
        await line.write(messages, signal).catch((error: unknown) => {
          throw unanswered(SERVICE, error)
        })
      }),
    close: () => line.close(),
  }
}

function framed({ type, at, body }: OutgoingEvent, source: string, now: number): Buffer {
  // RFC 5424 takes at most six digits of a second.
  const time = new Date(Number.isNaN(Date.parse(at)) ? now : at).toISOString()
  const message = Buffer.from(`<${PRIORITY}>1 ${time} ${source} ${printable(type, 32)} ${NIL} ${body}`)
  return Buffer.concat([Buffer.from(`${message.length} `), message])
}

/**
 * One connection, opened on demand and kept. Syslog has no responses: what was written to a connection that then breaks
 * may be lost, so it waits until the system has taken all, and checks that the peer has not closed before.
 */
class SyslogLine {
  readonly #open: () => Promise<Socket>
  readonly #writeMs: number
  #socket: Promise<Socket> | undefined
  #isClosed = false

  constructor(open: () => Promise<Socket>, writeMs: number) {
    this.#open = open
    this.#writeMs = writeMs
  }

  async write(bytes: Buffer, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const socket = await this.#connected()
    await within(this.#writeMs, 'Writing', late =>
      written(socket, bytes, AbortSignal.any([signal, late])),
    ).catch((cause: unknown) => {
      // A message may be truncated: nothing can follow it on this connection.
      socket.destroy()
      throw cause
    })
  }

  close(): void {
    this.#isClosed = true
    void this.#socket?.then(
      socket => socket.end(),
      () => undefined,
    )
    this.#socket = undefined
  }

  #connected(): Promise<Socket> {
    if (this.#isClosed) return Promise.reject(new EgressError('The destination is closed.'))
    this.#socket ??= this.#connect()
    return this.#socket
  }

  #connect(): Promise<Socket> {
    const opening = this.#open().then(socket => {
      const forget = (): void => {
        if (this.#socket === opening) this.#socket = undefined
        socket.destroy()
      }
      // It never responds, but its close is only seen by reading.
      socket.once('end', forget).once('close', forget).resume().unref()
      return socket
    })
    opening.catch(() => {
      if (this.#socket === opening) this.#socket = undefined
    })
    return opening
  }
}

function written(socket: Socket, bytes: Buffer, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown): void => {
      settle()
      reject(cause)
    }
    const stop = (): void => fail(signal.reason)
    const lost = (): void => fail(new EgressError('The connection was closed.'))
    const settle = (): void => {
      socket.unref().off('close', lost)
      signal.removeEventListener('abort', stop)
    }
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
    socket.ref().once('close', lost)
    socket.write(bytes, error => {
      if (error) return fail(new EgressError('The connection was lost.', { cause: error }))
      settle()
      resolve()
    })
  })
}
