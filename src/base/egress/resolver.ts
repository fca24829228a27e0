import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { EgressError } from '#base/egress.ts'
import type { Reach } from '#base/egress/reachable.ts'

/** All addresses of a name. */
export type Lookup = (host: string) => Promise<readonly string[]>

// Each lookup blocks one of the four threads that Node also uses for files and compression, as long as a name server is
// slow.
const MAX_LOOKUPS = 2
const MAX_NAMES = 256
const MAX_ADDRESSES = 16
const MAX_HOST = 253

async function bySystem(host: string): Promise<readonly string[]> {
  const found = await systemLookup(host, { all: true })
  return found.map(({ address }) => address)
}

/** Resolves names and keeps the addresses that may be reached. */
export class Resolver {
  readonly #reach: Reach
  readonly #lookup: Lookup
  /** Concurrent lookups of a name share the result; nothing is cached longer. */
  readonly #asked = new Map<string, Promise<readonly string[]>>()
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(reach: Reach, lookup: Lookup = bySystem) {
    this.#reach = reach
    this.#lookup = lookup
  }

  /** Checked addresses, to connect to as they are. */
  async addresses(host: string): Promise<readonly string[]> {
    const found = isIP(host) === 0 ? await this.#shared(host) : [host]
    const reached = new Set(found.slice(0, MAX_ADDRESSES).flatMap(address => this.#reach(address) ?? []))
    if (reached.size > 0) return [...reached]
    throw new EgressError(
      found.length === 0
        ? `The name ${host} has no address.`
        : `${host} has only non-public addresses (${found[0] ?? ''}). ` +
            'The setting egress_allow lists the private networks that are allowed.',
      { code: found.length === 0 ? 'unresolved' : 'forbidden' },
    )
  }

  #shared(host: string): Promise<readonly string[]> {
    const running = this.#asked.get(host)
    if (running !== undefined) return running
    if (host === '' || host.length > MAX_HOST)
      return Promise.reject(new EgressError('The host name cannot be resolved.', { code: 'invalid' }))
    if (this.#asked.size >= MAX_NAMES)
      return Promise.reject(new EgressError(`Too many concurrent DNS lookups; ${host} was not resolved.`))
    const answer = this.#inTurn(host).finally(() => this.#asked.delete(host))
    this.#asked.set(host, answer)
    return answer
  }

  async #inTurn(host: string): Promise<readonly string[]> {
    if (this.#running >= MAX_LOOKUPS) await new Promise<void>(resolve => this.#waiting.push(resolve))
    else this.#running++
    try {
      return await this.#lookup(host)
    } catch (cause) {
      const { code = 'no answer' } = cause as NodeJS.ErrnoException
      throw new EgressError(`The name ${host} cannot be resolved (${code}).`, { code: 'unresolved', cause })
    } finally {
      // The next lookup takes over this slot.
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}
