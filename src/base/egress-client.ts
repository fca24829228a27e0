import type { SecureContext } from 'node:tls'
import type { Range } from '#base/addresses.ts'
import { EgressError, type Egress, type EgressAnswer, type EgressRequest } from '#base/egress.ts'
import { openConnection, type Line } from '#base/egress/connect.ts'
import { within } from '#base/egress/deadline.ts'
import { reachOf } from '#base/egress/reachable.ts'
import { redirected, webAddress } from '#base/egress/redirect.ts'
import { Resolver, type Lookup } from '#base/egress/resolver.ts'
import { send, type Hop, type Limits } from '#base/egress/send.ts'
import { contextTrustingAlso } from '#base/trusting-context.ts'

export interface EgressOptions {
  /** Non-public networks that may be reached. */
  readonly allow: readonly Range[]
  /** Roots, in PEM, trusted in addition to the default ones. */
  readonly ca?: readonly string[]
  readonly lookup?: Lookup
}

const TIMEOUT_MS = 10_000
const MAX_BYTES = 1_048_576
const MAX_REDIRECTS = 3
/** Derived from the URL and the body. */
const ofConnection = new Set(['host', 'connection', 'content-length', 'transfer-encoding'])
const usual = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'adit' }

/** The only outgoing client of a process. Proxies of the environment are not used: they would resolve names again. */
export function createEgress({ allow, ca = [], lookup }: EgressOptions): Egress {
  let trust: SecureContext | undefined
  const line: Line = {
    resolver: new Resolver(reachOf(allow), lookup),
    trust: () => (trust ??= contextTrustingAlso(ca)),
  }
  return {
    request: (url, request = {}) =>
      within(request.timeoutMs ?? TIMEOUT_MS, 'The call', async signal => {
        const limits = { maxBytes: request.maxBytes ?? MAX_BYTES, signal }
        return follow(line, firstHop(url, request), limits, request.redirects ?? MAX_REDIRECTS)
      }),
    connect: target =>
      within(target.timeoutMs ?? TIMEOUT_MS, `Connecting to ${target.host}:${target.port}`, signal =>
        openConnection(line, target, signal),
      ),
  }
}

function firstHop(url: string, { method = 'GET', headers = {}, body }: EgressRequest): Hop {
  const given = Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !ofConnection.has(name))
  return { url: webAddress(url), method, headers: { ...usual, ...Object.fromEntries(given) }, body }
}

async function follow(line: Line, first: Hop, limits: Limits, most: number): Promise<EgressAnswer> {
  let hop = first
  for (let redirects = 0; redirects <= most; redirects++) {
    const answer = await call(line, hop, limits)
    const next = redirected(hop, answer)
    if (next === undefined) return answer
    hop = next
  }
  throw new EgressError(`${first.url.origin} redirects more than ${most} times.`, {
    code: 'invalid',
  })
}

async function call(line: Line, hop: Hop, limits: Limits): Promise<EgressAnswer> {
  const { protocol, hostname, port } = hop.url
  const isSecure = protocol === 'https:'
  const target = {
    host: hostname,
    port: port === '' ? (isSecure ? 443 : 80) : Number(port),
    ...(isSecure ? { tls: { serverName: hostname, alpn: ['http/1.1'] } } : {}),
  }
  const socket = await openConnection(line, target, limits.signal)
  return send(socket, hop, limits)
}
