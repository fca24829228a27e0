import type { Dns } from '#acme/dns.ts'
import type { ManagedDomain } from '#acme/domains.ts'

const MAX_HOPS = 10

/** Does DNS lead here? If not, these are the words that tell what to set. */
export type Proof = { readonly proven: true } | { readonly proven: false; readonly missing: string }

export interface ProofOptions {
  readonly dns: Dns
  /** Addresses of this server that DNS of the shared domain need not know. */
  readonly addresses?: readonly string[]
}

/** Whoever can set these records has the name: nobody else's is ordered, however often it is reserved. */
export async function proofOf(domain: ManagedDomain, options: ProofOptions): Promise<Proof> {
  for (const name of domain.names) {
    const { challengeTarget } = domain
    const missing =
      challengeTarget === undefined
        ? await missingVisit(name, domain.cnameTarget, options)
        : await missingChallenge(name, challengeTarget, options)
    if (missing !== undefined) return { proven: false, missing }
  }
  return { proven: true }
}

/** The name that proves a wildcard, and the plain name that it is about. */
export const challengeName = (name: string): string => `_acme-challenge.${name.replace(/^\*\./, '')}`

async function missingChallenge(
  name: string,
  target: string,
  { dns }: ProofOptions,
): Promise<string | undefined> {
  const asked = challengeName(name)
  if (asked === target || (await leadsTo(asked, target, dns))) return undefined
  return `The certificate of ${name} needs the DNS record "${asked} CNAME ${target}", which is not there yet.`
}

async function missingVisit(
  name: string,
  target: string | undefined,
  { dns, addresses = [] }: ProofOptions,
): Promise<string | undefined> {
  if (target === undefined || (await leadsTo(name, target, dns))) return undefined
  const found = await dns.addresses(name)
  const ours = new Set([...addresses, ...(found.length > 0 ? await dns.addresses(target) : [])])
  if (found.length > 0 && found.every(address => ours.has(address))) return undefined
  const now = found.length > 0 ? `leads to ${found.slice(0, 3).join(' and ')}` : 'has no address yet'
  return (
    `${name} ${now}. Set the DNS record "${name} CNAME ${target}"; ` +
    'at the top of a zone, where no CNAME can stand, set A and AAAA records with the addresses of that name.'
  )
}

async function leadsTo(name: string, target: string, dns: Dns): Promise<boolean> {
  let at = name
  for (let hop = 0; hop < MAX_HOPS; hop++) {
    const next = await dns.cname(at)
    if (next === undefined) return false
    if (next === target) return true
    at = next
  }
  return false
}
