import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { cut } from '#tunnel/splice.ts'
import { HOST } from './agent-support.ts'

/** Which bytes are dropped: those to the gateway, those to the agent, or all. */
export type LossDirection = 'both' | 'to gateway' | 'to agent'

interface Pair {
  readonly near: Socket
  readonly far: Socket
  lost: LossDirection | undefined
}

/** A relay between agents and their gateway that silently drops bytes, or breaks connections. */
export class LossyRelay implements AsyncDisposable {
  /** How many connections were made so far. */
  count = 0
  /** New connections are refused. */
  closed = false
  readonly #server = createServer(near => this.#take(near))
  readonly #pairs = new Set<Pair>()
  readonly #port: number

  private constructor(port: number) {
    this.#port = port
  }

  static async start(port: number): Promise<LossyRelay> {
    const relay = new LossyRelay(port)
    await once(relay.#server.listen(0, HOST), 'listening')
    return relay
  }

  get address(): string {
    return `${HOST}:${(this.#server.address() as AddressInfo).port}`
  }

  get open(): number {
    return this.#pairs.size
  }

  /** Drops the bytes of the current connections from now on; both sockets stay open. */
  blackhole(lost: LossDirection): void {
    for (const pair of this.#pairs) pair.lost = lost
  }

  /** Breaks the current connections. */
  cut(): void {
    for (const { near, far } of this.#pairs) {
      cut(near)
      cut(far)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #take(near: Socket): void {
    near.on('error', () => undefined)
    if (this.closed) {
      near.resetAndDestroy()
      return
    }
    this.count++
    const pair: Pair = { near, far: connect({ host: HOST, port: this.#port }), lost: undefined }
    this.#pairs.add(pair)
    pass(pair, 'to gateway', [near, pair.far])
    pass(pair, 'to agent', [pair.far, near])
    let open = 2
    const gone = (): boolean => --open === 0 && this.#pairs.delete(pair)
    near.once('close', gone)
    pair.far.once('close', gone)
  }
}

/** Carries one direction; where its bytes get lost its end does too. */
function pass(pair: Pair, way: LossDirection, [from, to]: readonly [Socket, Socket]): void {
  const isLost = (): boolean => pair.lost === 'both' || pair.lost === way
  from.on('data', (bytes: Buffer) => {
    if (isLost() || to.write(bytes)) return
    from.pause()
    to.once('drain', () => from.resume())
  })
  from.on('error', () => undefined)
  from.once('close', () => {
    if (!isLost()) to.destroy()
  })
}
