import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { Http2ClientConnection } from '#http2/client-connection.ts'
import type { Http2ClientStream, OutgoingHead, ClientStreamReader } from '#http2/client-stream.ts'
import type { ResponseHeadFields } from '#http2/response-fields.ts'
import { SocketStream } from '../http/http2/support.ts'
import { FRAME, frame, RawPeer } from '../http/http2/raw-peer.ts'

export interface Pair extends AsyncDisposable {
  readonly connection: Http2ClientConnection
  /** The server, which writes its frames by hand. */
  readonly wire: RawPeer
  /** What the connection reported. */
  readonly events: string[]
  readonly closed: Promise<void>
}

/** The client side of a connection, and a server by hand; `settings`: the payload of its SETTINGS frame. */
export async function connectedPair(settings: Buffer = Buffer.alloc(0)): Promise<Pair> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [far] = await accepted
  far.on('error', () => undefined)
  const wire = RawPeer.accept(far)
  const events: string[] = []
  const closed = Promise.withResolvers<void>()
  const connection = new Http2ClientConnection(new SocketStream(socket), {
    settings: streams => events.push(`settings ${streams ?? ''}`.trim()),
    finishing: () => events.push('finishing'),
    closed: () => {
      events.push('closed')
      closed.resolve()
    },
  })
  connection.start()
  wire.send(frame(FRAME.settings, 0, 0, settings))
  await wire.find(({ type, flags }) => type === FRAME.settings && flags === 1)
  return {
    connection,
    wire,
    events,
    closed: closed.promise,
    async [Symbol.asyncDispose]() {
      connection.close()
      far.destroy()
      socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

export const GET: OutgoingHead = {
  method: 'GET',
  scheme: 'http',
  authority: 'shop.example',
  path: '/',
  length: undefined,
  lines: 'x-a: b\r\n',
  unique: undefined,
  endsWithData: false,
}

/** What a reader got, in order; a code is that of the end. */
class RecordingReader implements ClientStreamReader {
  readonly seen: string[] = []
  readonly over: Promise<number | undefined>
  readonly #over = Promise.withResolvers<number | undefined>()

  constructor() {
    this.over = this.#over.promise
  }

  informational({ status }: ResponseHeadFields): void {
    this.seen.push(`informational ${status}`)
  }

  response({ status, fields }: ResponseHeadFields, isComplete: boolean): void {
    const lines = fields.map(({ name, value }) => ` ${name}=${value}`).join('')
    this.seen.push(`response ${status}${lines}${isComplete ? ' complete' : ''}`)
  }

  data(bytes: Buffer): void {
    this.seen.push(`data ${bytes.toString()}`)
  }

  end(trailers: readonly { readonly name: string; readonly value: string }[]): void {
    this.seen.push(`end${trailers.map(({ name, value }) => ` ${name}=${value}`).join('')}`)
  }

  drained(): void {
    this.seen.push('drained')
  }

  sent(): void {
    this.seen.push('sent')
  }

  stopped(): void {
    this.seen.push('stopped')
  }

  closed(code: number | undefined): void {
    this.seen.push(`closed${code === undefined ? '' : ` ${code}`}`)
    this.#over.resolve(code)
  }
}

interface Asked {
  readonly stream: Http2ClientStream
  readonly reader: RecordingReader
}

/** Sends a request whose content is complete by default. */
export function ask(
  { connection }: Pair,
  { head = GET, ends = true, reads = true }: { head?: OutgoingHead; ends?: boolean; reads?: boolean } = {},
): Asked {
  const stream = connection.request(head)
  const reader = new RecordingReader()
  stream.attach(reader)
  if (reads) stream.resume()
  if (ends) stream.end()
  return { stream, reader }
}
