import type { ChildProcess } from 'node:child_process'
import type { HandshakeFigures, HandshakeJob } from '../handshake-program.ts'
import { type Figures, seconds } from '../interleave.ts'
import { cpuSeconds } from '../processes.ts'
import { ask, program } from '../programs.ts'

/** A TLS server, and its names. */
export interface HandshakeTarget {
  readonly pid: number
  readonly port: number
  readonly names: readonly string[]
}

/** More than one: a client works as hard in a handshake as its server, and the server must be the bottleneck. */
const GENERATORS = 2

/** Handshakes from separate processes, the same for all servers. */
export class HandshakeLoad implements Disposable {
  readonly #children: readonly ChildProcess[] = Array.from({ length: GENERATORS }, () =>
    program('handshake-program.ts'),
  )

  /** All generators connect to each name once, so that its context is created, and get a ticket for it. */
  async visit({ port, names }: HandshakeTarget): Promise<void> {
    await this.#ask({ work: 'visit', port, names })
  }

  /** Handshakes per second, and CPU time of the server for a thousand of them. */
  async rate(work: 'full' | 'resumed', { pid, port, names }: HandshakeTarget): Promise<Figures> {
    const before = cpuSeconds([pid])
    const rate = await this.#ask({ work, port, names, milliseconds: seconds * 1000 })
    const spent = cpuSeconds([pid]) - before
    return { rate, cpu: (spent / (rate * seconds)) * 1000 }
  }

  async #ask(job: HandshakeJob): Promise<number> {
    const figures = await Promise.all(this.#children.map(child => ask<HandshakeFigures>(child, job)))
    return figures.reduce((sum, { perSecond }) => sum + perSecond, 0)
  }

  [Symbol.dispose](): void {
    for (const child of this.#children) child.kill()
  }
}
