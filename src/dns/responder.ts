import { Cookies } from '#dns/cookies.ts'
import { IN, rcodes, readQuery, TC, types, type Query, type Rcode } from '#dns/message.ts'
import { DnsRateLimit } from '#dns/rate-limit.ts'
import { MAX_MESSAGE, UDP_PAYLOAD, writeFault, writeReply, writeTruncated } from '#dns/reply.ts'
import { lookUp, type LookupResult, type Zones } from '#dns/zone.ts'

/** The result of a query, for the metrics. */
export const results = [
  'noerror',
  'nxdomain',
  'refused',
  'formerr',
  'notimp',
  'badvers',
  'truncated',
  'limited',
  'ignored',
  'failed',
] as const
export type Result = (typeof results)[number]

export interface ResponderOptions {
  readonly zones: Zones
  readonly limit?: DnsRateLimit
  readonly cookies?: Cookies
  readonly counted?: (result: Result) => void
}

export interface DnsClient {
  readonly address: string
  readonly over: 'udp' | 'tcp'
}

/**
 * A UDP response is at most so many times as long as the query, unless the client has proved its address: spoofing
 * gains little. Longer responses need TCP.
 */
export const MAX_GROWTH = 4
const MIN_PAYLOAD = 512

const names: Readonly<Record<Rcode, Result>> = {
  [rcodes.noError]: 'noerror',
  [rcodes.formErr]: 'formerr',
  [rcodes.nxDomain]: 'nxdomain',
  [rcodes.notImp]: 'notimp',
  [rcodes.refused]: 'refused',
  [rcodes.badVers]: 'badvers',
}

const without = (rcode: Rcode): LookupResult => ({ rcode, authoritative: false, answers: [], authority: [] })
const [REFUSED, NOT_IMPLEMENTED, BAD_VERSION] = [
  without(rcodes.refused),
  without(rcodes.notImp),
  without(rcodes.badVers),
]

/** Turns a query into its response. */
export class Responder {
  readonly #zones: Zones
  readonly #limit: DnsRateLimit
  readonly #cookies: Cookies
  readonly #counted: (result: Result) => void

  constructor({ zones, limit, cookies, counted }: ResponderOptions) {
    this.#zones = zones
    this.#limit = limit ?? new DnsRateLimit()
    this.#cookies = cookies ?? new Cookies()
    this.#counted = counted ?? (() => undefined)
  }

  /** Undefined when there is no response. */
  respond(bytes: Buffer, client: DnsClient): Buffer | undefined {
    const reading = readQuery(bytes)
    if (reading.is === 'noise') return this.#nothing('ignored')
    const query = reading.is === 'query' ? reading.query : undefined
    const isProved = client.over === 'tcp' || this.#knows(query, client)
    const verdict = isProved ? 'answer' : this.#limit.judge(client.address)
    if (verdict === 'drop') return this.#nothing('limited')
    if (reading.is === 'fault') {
      if (verdict === 'truncate') return this.#nothing('limited')
      this.#counted(names[reading.rcode])
      return writeFault(reading)
    }
    return this.#answer(reading.query, client, { isProved, verdict, length: bytes.length })
  }

  #answer(
    query: Query,
    { address, over }: DnsClient,
    limits: { readonly isProved: boolean; readonly verdict: 'answer' | 'truncate'; readonly length: number },
  ): Buffer {
    const { edns } = query
    const cookie = edns?.cookie && this.#cookies.reply(edns.cookie, address)
    if (limits.verdict === 'truncate') {
      this.#counted('limited')
      return writeTruncated(query, { ...without(rcodes.noError), cookie })
    }
    const found = this.#find(query)
    const limit = over === 'tcp' ? MAX_MESSAGE : Math.min(payloadOf(query), UDP_PAYLOAD)
    const growth = limits.isProved ? limit : Math.min(limit, MAX_GROWTH * limits.length)
    const reply = writeReply(query, { ...found, cookie }, growth)
    this.#counted((reply.readUInt16BE(2) & TC) === 0 ? names[found.rcode] : 'truncated')
    return reply
  }

  #find({ edns, class: family, type, name }: Query): LookupResult {
    if (edns !== undefined && edns.version !== 0) return BAD_VERSION
    if (family !== IN || type === types.AXFR || type === types.IXFR) return REFUSED
    if (isMeta(type)) return NOT_IMPLEMENTED
    return lookUp(this.#zones, name, type)
  }

  #knows(query: Query | undefined, { address }: DnsClient): boolean {
    const cookie = query?.edns?.cookie
    return cookie !== undefined && this.#cookies.isOurs(cookie, address)
  }

  #nothing(result: Result): undefined {
    this.#counted(result)
    return undefined
  }
}

/** Types that no record has: they belong to transactions. */
const isMeta = (type: number): boolean =>
  type === 0 || type === types.OPT || (type >= 128 && type < types.ANY)

const payloadOf = ({ edns }: Query): number => Math.max(MIN_PAYLOAD, edns?.payload ?? 0)
