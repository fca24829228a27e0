import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { EgressError } from '#base/egress.ts'
import type { Reach } from '#base/egress/reachable.ts'

/** All addresses of a name. */
export type Lookup = (host: string) => Promise<readonly string[]>

// Each holds one of the four threads on which node also reads files and compresses, for as long as a name server is slow.
const MAX_LOOKUPS = 2
const MAX_NAMES = 256
const MAX_ADDRESSES = 16
const MAX_HOST = 253

async function bySystem(host: string): Promise<readonly string[]> {
  const found = await systemLookup(host, { all: true })
  return found.map(({ address }) => address)
}

/** Finds the addresses of names and keeps those that may be reached. */
export class Resolver {
  readonly #reach: Reach
  readonly #lookup: Lookup
  /** Whoever asks for a name while it is being looked up shares the answer; nothing is kept longer. */
  readonly #asked = new Map<string, Promise<readonly string[]>>()
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(reach: Reach, lookup: Lookup = bySystem) {
    this.#reach = reach
    this.#lookup = lookup
  }

  /** Addresses that were checked, to be connected to as they are. */
  async addresses(host: string): Promise<readonly string[]> {
    const found = isIP(host) === 0 ? await this.#shared(host) : [host]
    const reached = new Set(found.slice(0, MAX_ADDRESSES).flatMap(address => this.#reach(address) ?? []))
    if (reached.size > 0) return [...reached]
    throw new EgressError(
      found.length === 0
        ? `The name ${host} has no address.`
        : `${host} has only addresses outside of the public network (${found[0] ?? ''}). ` +
            'The setting egress_allow names the networks that may be called nevertheless.',
      { code: found.length === 0 ? 'unresolved' : 'forbidden' },
    )
  }

  #shared(host: string): Promise<readonly string[]> {
    const running = this.#asked.get(host)
    if (running !== undefined) return running
    if (host === '' || host.length > MAX_HOST)
      return Promise.reject(new EgressError('That is not a name that can be looked up.', { code: 'invalid' }))
    if (this.#asked.size >= MAX_NAMES)
      return Promise.reject(new EgressError(`Too many names are being looked up; ${host} was not.`))
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
      // The next one takes over this one's place.
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}
