import { once } from 'node:events'
import { createServer as createWeb, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { HOST } from './agent-support.ts'
import { sleep } from './measurements.ts'

const BLOCK = Buffer.alloc(65_536, 'x')
const MIB = 1_048_576

/** Writes as fast as the peer reads, then ends; `wrote` gets the bytes so far. Stops early if the connection closes. */
export async function writeBytes(
  target: Writable,
  bytes: number,
  wrote?: (bytes: number) => void,
): Promise<void> {
  const over = new AbortController()
  target.once('close', () => over.abort())
  for (let left = bytes; left > 0 && !over.signal.aborted; left -= BLOCK.length) {
    const taken = target.write(left < BLOCK.length ? BLOCK.subarray(0, left) : BLOCK)
    wrote?.(BLOCK.length)
    if (!taken) await once(target, 'drain', over).catch(() => over.abort())
  }
  target.end()
}

/** Reads nothing for a while, then pauses after each mebibyte; resolves to the number of bytes. */
export async function readSlowly(source: Readable, restMs: number): Promise<number> {
  let [taken, rests] = [0, 0]
  await sleep(restMs * 5)
  // The other direction is still needed.
  const pieces = source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
  for await (const piece of pieces) {
    taken += piece.length
    if (taken < (rests + 1) * MIB) continue
    rests++
    await sleep(restMs)
  }
  return taken
}

/** The services behind the tunnels. The first line of a client selects their behaviour: `echo`, `pour 1000` and so on. */
export class Services implements AsyncDisposable {
  /** Bytes that were written for clients that do not read. */
  poured = 0
  readonly #restMs: number
  readonly #sockets = new Set<Socket>()
  readonly #tcp = createServer({ allowHalfOpen: true }, socket => void this.#serve(socket))
  readonly #web = createWeb((asked, response) => void this.#answer(asked, response))

  private constructor(restMs: number) {
    this.#restMs = restMs
  }

  static async start(restMs: number): Promise<Services> {
    const services = new Services(restMs)
    for (const server of [services.#tcp, services.#web] as Server[]) {
      server.on('connection', (socket: Socket) => services.#sockets.add(socket.on('error', () => undefined)))
      await once(server.listen(0, HOST), 'listening')
    }
    return services
  }

  get tcp(): number {
    return (this.#tcp.address() as AddressInfo).port
  }

  get web(): number {
    return (this.#web.address() as AddressInfo).port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#tcp.close()
    this.#web.close()
  }

  async #serve(socket: Socket): Promise<void> {
    await once(socket, 'readable')
    const line: Buffer = socket.read(16) ?? Buffer.alloc(0)
    const [word, bytes] = line.toString().trim().split(' ')
    if (word === 'echo') socket.pipe(socket)
    else if (word === 'pour') await writeBytes(socket, Number(bytes), more => (this.poured += more))
    else if (word === 'sip') socket.end(String(await readSlowly(socket, this.#restMs).catch(() => 0)))
    // Any other command: nothing more is read.
  }

  async #answer(asked: IncomingMessage, response: ServerResponse): Promise<void> {
    const [word, bytes] = (asked.url ?? '').slice(1).split('-')
    response.on('error', () => undefined)
    if (word === 'pour') await writeBytes(response, Number(bytes), more => (this.poured += more))
    else if (word === 'sip') response.end(String(await readSlowly(asked, this.#restMs).catch(() => 0)))
    else if (word === 'echo') response.end('echo')
  }
}

/** A client of a TCP tunnel that has sent its first line. */
export async function visitTcp(url: string, wish: string): Promise<Socket> {
  const socket = connect({ host: HOST, port: Number(url.split(':').at(-1)), allowHalfOpen: true })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.setNoDelay(true)
  socket.write(wish.padEnd(16))
  return socket
}

/** A client of an HTTP tunnel; `response` emits its response. */
export function visitWeb(url: string, path: string, method = 'GET') {
  const { host, port } = new URL(url)
  const asked = request({ host: HOST, port, path, method, headers: { host }, agent: false })
  asked.on('error', () => undefined)
  const { promise: response, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  response.catch(() => undefined)
  asked.once('response', resolve)
  asked.once('close', () => reject(new Error('there was no answer')))
  return { asked, response }
}
