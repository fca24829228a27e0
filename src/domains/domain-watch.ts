import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Dns } from '#acme/dns.ts'
import type { PublicDomain } from '#domains/domain-advice.ts'

/** The state of the domain's certificate. */
export type CertificateState =
  /** `why` is a whole sentence. */
  | { readonly is: 'never'; readonly why: string }
  /** `looksAt`: the DNS check failed, and this is when it is repeated. */
  | { readonly is: 'waiting'; readonly text: string; readonly looksAt?: string }
  | { readonly is: 'there'; readonly text: string; readonly fingerprint: string }

/** What is watched besides DNS. */
export interface Site {
  /** The domain's URL. */
  readonly url: string
  certificate(): Promise<CertificateState>
  /** The fingerprint of the served certificate; rejects when there is none. */
  shown(): Promise<string | undefined>
}

export interface Watching {
  readonly report: (text: string) => void
  readonly signal: AbortSignal
  readonly firstWaitMs?: number
  readonly longestWaitMs?: number
}

interface Standing {
  readonly done: boolean
  readonly text: string
}

interface Steps {
  readonly firstWaitMs: number
  readonly longestWaitMs: number
}

const DNS_WAIT_MS = 5000
const LONGEST_DNS_WAIT_MS = 60_000
const WAIT_MS = 500
const LONGEST_WAIT_MS = 10_000
/** A log must not fill up with a domain that stays misconfigured. */
const MAX_LINES = 50

/** Checks until the domain points here and is served with its certificate; reports every change. */
export async function watchDomain(
  target: Pick<PublicDomain, 'domain' | 'addresses'>,
  dns: Pick<Dns, 'addresses'>,
  site: Site,
  { report, signal, firstWaitMs = DNS_WAIT_MS, longestWaitMs = LONGEST_DNS_WAIT_MS }: Watching,
): Promise<void> {
  const watch = new Watch(report, signal)
  await watch.follow(() => dnsStanding(target, dns), { firstWaitMs, longestWaitMs })
  const often = {
    firstWaitMs: Math.min(firstWaitMs, WAIT_MS),
    longestWaitMs: Math.min(longestWaitMs, LONGEST_WAIT_MS),
  }
  const ordering = new Ordering(target.domain, site)
  await watch.follow(() => ordering.look(), often)
  if (ordering.isInVain) return
  await watch.follow(() => servedStanding(site), often)
  watch.end(`${site.url} is served.`)
}

class Watch {
  readonly #report: (text: string) => void
  readonly #signal: AbortSignal
  #last = ''
  #lines = 0

  constructor(report: (text: string) => void, signal: AbortSignal) {
    this.#report = report
    this.#signal = signal
  }

  /** Checks, less and less often, until it is done. */
  async follow(look: () => Promise<Standing>, { firstWaitMs, longestWaitMs }: Steps): Promise<void> {
    for (let delay = firstWaitMs; !this.#signal.aborted; delay = Math.min(delay * 1.5, longestWaitMs)) {
      // A failed check, such as an unavailable database, is repeated.
      const standing = await look().catch(() => undefined)
      if (standing !== undefined) this.#reportChange(standing.text)
      if (standing?.done) return
      await wait(delay, undefined, { signal: this.#signal, ref: false }).catch(() => undefined)
    }
  }

  /** The last line is printed however many were before it. */
  end(text: string): void {
    if (!this.#signal.aborted) this.#report(text)
  }

  #reportChange(text: string): void {
    if (text === '' || text === this.#last || this.#signal.aborted || this.#lines > MAX_LINES) return
    this.#last = text
    this.#lines++
    this.#report(
      this.#lines <= MAX_LINES
        ? text
        : 'No further progress is shown here; see certificate_management_status of the domain.',
    )
  }
}

/** The state of the certificate, once DNS points here. */
class Ordering {
  readonly #domain: string
  readonly #site: Site
  #firstLook: string | undefined
  /** No certificate will come. */
  isInVain = false

  constructor(domain: string, site: Site) {
    this.#domain = domain
    this.#site = site
  }

  async look(): Promise<Standing> {
    const standing = await this.#site.certificate()
    this.isInVain = standing.is === 'never'
    if (standing.is === 'never') return { done: true, text: standing.why }
    return { done: standing.is === 'there', text: `Certificate of ${this.#domain}: ${this.#text(standing)}` }
  }

  /** A DNS failure from before is outdated; the next check counts. */
  #text(standing: Exclude<CertificateState, { is: 'never' }>): string {
    const looksAt = standing.is === 'waiting' ? standing.looksAt : undefined
    this.#firstLook ??= looksAt ?? ''
    return looksAt === undefined || looksAt !== this.#firstLook
      ? standing.text
      : `ordered after the next DNS check, at ${looksAt}.`
  }
}

/** The state of DNS, in one sentence. */
async function dnsStanding(
  { domain, addresses }: Pick<PublicDomain, 'domain' | 'addresses'>,
  dns: Pick<Dns, 'addresses'>,
): Promise<Standing> {
  // A fresh name, so that no cache has it.
  const below = `check-${randomBytes(6).toString('hex')}.${domain}`
  const waiting = `Waiting for DNS of ${domain}:`
  try {
    const [own, other] = await Promise.all([dns.addresses(domain), dns.addresses(below)])
    const leadsHere = (found: readonly string[]): boolean =>
      found.length > 0 && found.every(address => addresses.includes(address))
    if (leadsHere(own) && leadsHere(other))
      return { done: true, text: `DNS of ${domain} points to this server.` }
    const strange = [...new Set([...own, ...other])].filter(address => !addresses.includes(address))
    if (strange.length > 0)
      return { done: false, text: `${waiting} it points to ${strange.slice(0, 3).join(', ')}.` }
    if (own.length === other.length) return { done: false, text: `${waiting} no record yet.` }
    const absent = own.length === 0 ? domain : `*.${domain}`
    return { done: false, text: `${waiting} ${absent} has no record yet.` }
  } catch {
    return { done: false, text: `${waiting} name servers do not respond.` }
  }
}

/** Until exactly the issued certificate is served. */
async function servedStanding(site: Site): Promise<Standing> {
  const standing = await site.certificate()
  if (standing.is !== 'there') return { done: false, text: '' }
  const shown = await site.shown().catch(() => undefined)
  if (shown === standing.fingerprint) return { done: true, text: '' }
  return { done: false, text: `The certificate is issued, but ${site.url} is not served with it yet.` }
}
