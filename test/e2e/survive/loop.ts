import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'

/** Nothing that a client or tenant sends may take longer. */
const LIMIT_MS = 10
/** What fails a test: the processor of a test machine may be half as fast. */
export const SLOW_LIMIT_MS = 2 * LIMIT_MS
/** Disturbances only lengthen a measurement, so the shortest of several is the cost of the work. */
const ATTEMPTS = 25

/** Measures how long the event loop of a server process is blocked. */
export class LoopProbe {
  readonly #socket: string

  constructor(folder: string) {
    this.#socket = join(folder, 'loop.sock')
  }

  get environment(): Record<string, string> {
    const program = pathToFileURL(join(import.meta.dirname, 'loop-probe.ts'))
    return { LOOP_PROBE: this.#socket, NODE_OPTIONS: `--import=${program.href}` }
  }

  /** In milliseconds, since the last call. */
  async longest(): Promise<number> {
    const request = get({ socketPath: this.#socket, agent: false })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return Number(await text(response))
  }

  /** The shortest of the longest blocks, of so many attempts as are needed to come below the limit. */
  async during(work: (attempt: number) => Promise<unknown>): Promise<number> {
    let best = Infinity
    for (let attempt = 0; attempt < ATTEMPTS && best > LIMIT_MS; attempt++) {
      await this.longest()
      await work(attempt)
      best = Math.min(best, await this.longest())
    }
    return best
  }
}
