import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { isIPv6 } from 'node:net'
import type { Dns } from '#acme/dns.ts'

export interface PublicDomain {
  readonly domain: string
  /** Where the world reaches this server. */
  readonly addresses: readonly string[]
  /** Whether the operator said so. */
  readonly isSet: boolean
  /** Whether the server answers DNS for the domain itself. */
  readonly answersDns: boolean
}

const FIRST_WAIT_MS = 5000
const LONGEST_WAIT_MS = 60_000

/** Names under these are of this machine alone; no DNS is needed for them. */
export const isLocalName = (domain: string): boolean =>
  /(^|\.)(localhost|test|invalid|internal)$/.test(domain)

const record = (name: string, address: string): string =>
  `${name} ${isIPv6(address) ? 'AAAA' : 'A'} ${address}`

/** The records to set so that names under the domain lead here, each as a line of a zone. */
export function recordsToSet({ domain, addresses, answersDns }: PublicDomain): string[] {
  if (!answersDns) return [domain, `*.${domain}`].flatMap(name => addresses.map(each => record(name, each)))
  const servers = [`ns1.${domain}`, `ns2.${domain}`]
  return [
    ...servers.map(server => `${domain} NS ${server}`),
    ...servers.flatMap(server => addresses.map(each => record(server, each))),
  ]
}

/** What to do with them, in words. */
export function domainAdvice(target: PublicDomain): string[] {
  const { domain, addresses, isSet, answersDns } = target
  if (isLocalName(domain)) return []
  if (!isSet && addresses.every(isLoopback)) return onLoopback(domain)
  const where = answersDns
    ? `Delegate ${domain} to this server. Set at its registrar, or in the zone above it:`
    : `Set these records in the DNS of ${domain}:`
  const instead = answersDns
    ? []
    : [
        '  With ADIT_DNS_ADDR=0.0.0.0:53 this server answers DNS for it, and gets a certificate for all its names.',
        '',
      ]
  return [`  ${where}`, '', ...recordsToSet(target).map(line => `    ${line}`), '', ...instead]
}

const isLoopback = (address: string): boolean => address === '::1' || address.startsWith('127.')

const onLoopback = (domain: string): string[] => [
  `  Nobody can reach ${domain} yet: this server listens on this machine alone. Start it with`,
  '',
  '    ADIT_HTTP_ADDR=0.0.0.0:80 ADIT_HTTPS_ADDR=0.0.0.0:443 ADIT_AGENT_ADDR=0.0.0.0:4443',
  '',
  '  and, where its public address is not one of its own, with ADIT_PUBLIC_ADDRESSES.',
  '',
]

/** How it stands with the domain, in one sentence. */
async function standing(
  { domain, addresses }: PublicDomain,
  dns: Dns,
): Promise<{ done: boolean; text: string }> {
  // A name that nobody has asked for before, so that no cache knows it.
  const names = [domain, `check-${randomBytes(6).toString('hex')}.${domain}`]
  try {
    const found = await Promise.all(names.map(name => dns.addresses(name)))
    if (found.every(each => each.length > 0 && each.every(address => addresses.includes(address))))
      return { done: true, text: `DNS of ${domain} leads here.` }
    const others = [...new Set(found.flat())].filter(address => !addresses.includes(address))
    const state = others.length > 0 ? `leads to ${others.slice(0, 3).join(', ')}` : 'is not there yet'
    return { done: false, text: `Waiting for DNS of ${domain}: it ${state}.` }
  } catch {
    return { done: false, text: `Waiting for DNS of ${domain}: name servers do not answer.` }
  }
}

export interface Watching {
  readonly told: (text: string) => void
  readonly signal: AbortSignal
  readonly firstWaitMs?: number
}

/** Looks until the domain leads here; tells each time that something has changed. */
export async function watchDomain(
  target: PublicDomain,
  dns: Dns,
  { told, signal, firstWaitMs = FIRST_WAIT_MS }: Watching,
): Promise<void> {
  let last = ''
  for (let delay = firstWaitMs; !signal.aborted; delay = Math.min(delay * 1.5, LONGEST_WAIT_MS)) {
    const { done, text } = await standing(target, dns)
    if (text !== last && !signal.aborted) told(text)
    last = text
    if (done) return
    await wait(delay, undefined, { signal, ref: false }).catch(() => undefined)
  }
}
