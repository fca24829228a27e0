import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { setPriority } from 'node:os'
import { answerJobs } from '../answer-jobs.ts'

/** How a link treats packets, the same in both directions. */
export interface LinkShape {
  /** One way. */
  readonly delayMs: number
  /** The share of packets that are lost at random. */
  readonly loss: number
  readonly bytesPerSecond: number
  /** What waits for the link beyond this is lost too. */
  readonly queueBytes: number
}

/** Relays packets between two programs that have one TUN device each, and the UDP ports of both. */
export interface RelayJob extends LinkShape {
  readonly near: number
  readonly far: number
}

export interface RelayPorts {
  readonly near: number
  readonly far: number
}

interface Packet {
  readonly bytes: Buffer
  readonly due: number
}

/** One direction of the link. */
class Direction {
  readonly #shape: LinkShape
  readonly #send: (bytes: Buffer) => void
  readonly #underWay: Packet[] = []
  /** When the link has sent everything that waits for it. */
  #freeAt = 0

  constructor(shape: LinkShape, send: (bytes: Buffer) => void) {
    this.#shape = shape
    this.#send = send
  }

  take(bytes: Buffer): void {
    const { delayMs, loss, bytesPerSecond, queueBytes } = this.#shape
    const now = performance.now()
    const waitMs = Math.max(0, this.#freeAt - now)
    if (Math.random() < loss || (waitMs * bytesPerSecond) / 1000 > queueBytes) return
    this.#freeAt = now + waitMs + (bytes.length / bytesPerSecond) * 1000
    this.#underWay.push({ bytes, due: this.#freeAt + delayMs })
    if (this.#underWay.length === 1) this.#wait()
  }

  #wait(): void {
    const first = this.#underWay[0]
    if (first !== undefined) setTimeout(() => this.#deliver(), Math.max(1, first.due - performance.now()))
  }

  #deliver(): void {
    const now = performance.now()
    for (let first = this.#underWay[0]; first !== undefined && first.due <= now; first = this.#underWay[0]) {
      this.#underWay.shift()
      this.#send(first.bytes)
    }
    this.#wait()
  }
}

async function relay(job: RelayJob): Promise<RelayPorts> {
  // The link must not be slower because its ends are busy.
  setPriority(-10)
  const bound = async (): Promise<ReturnType<typeof createSocket>> => {
    const socket = createSocket({ type: 'udp4', recvBufferSize: 4_194_304, sendBufferSize: 4_194_304 })
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    return socket
  }
  const [near, far] = [await bound(), await bound()]
  const outward = new Direction(job, bytes => far.send(bytes, job.far, '127.0.0.1'))
  const back = new Direction(job, bytes => near.send(bytes, job.near, '127.0.0.1'))
  near.on('message', bytes => outward.take(bytes))
  far.on('message', bytes => back.take(bytes))
  return { near: near.address().port, far: far.address().port }
}

answerJobs(relay)
