import { hash } from 'node:crypto'
import { nameServers } from '#base/own-names.ts'
import { addressSets, caaSet, cnameSet, nsSet, txtSet, type RecordSet } from '#dns/records.ts'
import { nearest, Zone, ZoneTable, type Zones } from '#dns/zone.ts'
import type { Follower, SourceChange, SourceRow } from '#registry/records/source.ts'

/** The kinds of rows that DNS is built from. */
export const dnsKinds = ['agent_ingress', 'reserved_domain', 'acme_challenge'] as const

interface DnsZonesOptions {
  /** The shared domain. */
  readonly domain: string
  /** The addresses of all names. */
  readonly addresses: readonly string[]
  /** The addresses of the name servers, if they differ. */
  readonly nameServerIps?: readonly string[]
  /** The addresses of the nodes of a cluster that serve; `addresses` are those of this one. */
  readonly nodes?: () => readonly string[]
  /** The CAs that may issue certificates; any when empty. */
  readonly authorities: readonly string[]
  readonly now?: () => number
}

type ZoneEntry = readonly [name: string, set: RecordSet]

const TTL = 300
/** Short, so that clients leave a node that has gone. */
const NODES_TTL = 15
const DELEGATION_TTL = 3600
/** Short, so that a challenge record is seen although the name was queried a moment before. */
const NEGATIVE_TTL = 30
/** A CA may see the next challenge's text a second later. */
const CHALLENGE_TTL = 1
/** Concurrent challenges of one name; a certificate for a name and its wildcard needs two. */
const MAX_CHALLENGES = 16
/** Names of the shared domain that belong to this server whatever wildcards exist; see `OWN_LABELS`. */
const OWN_HOSTS = ['api', 'idp', 'tunnel']

const text = ({ body }: SourceRow, field: string): string => {
  const value = body[field]
  return typeof value === 'string' ? value.toLowerCase() : ''
}

const texts = ({ body }: SourceRow, field: string): string[] => {
  const value = body[field]
  return Array.isArray(value) ? value.filter(each => typeof each === 'string') : []
}

/** The DNS zones, built from the settings and the store; rebuilt on demand after a change. */
export class DnsZones implements Zones, Follower {
  readonly #options: DnsZonesOptions
  readonly #rows = new Map<string, SourceRow>()
  #table: ZoneTable | undefined
  #serial = 0
  /** The addresses of the current table. */
  #shown = ''

  constructor(options: DnsZonesOptions) {
    this.#options = options
  }

  snapshot(rows: readonly SourceRow[]): void {
    this.#rows.clear()
    for (const row of rows) this.#rows.set(row.id, row)
    this.#table = undefined
  }

  changes(batch: readonly SourceChange[]): void {
    for (const change of batch) {
      if (change.op === 'put') this.#rows.set(change.row.id, change.row)
      else this.#rows.delete(change.id)
    }
    this.#table = undefined
  }

  /** A node has joined or left, or drains. */
  nodesChanged(): void {
    const now = this.#nodes().join()
    if (now !== this.#shown) this.#table = undefined
    this.#shown = now
  }

  zoneOf(name: string): Zone | undefined {
    return this.#current().zoneOf(name)
  }

  all(): Iterable<Zone> {
    return this.#current().all()
  }

  #current(): ZoneTable {
    return (this.#table ??= this.#build())
  }

  #build(): ZoneTable {
    const now = this.#options.now?.() ?? Date.now()
    // RFC 1912 §2.2: it may only grow, whatever the clock does.
    this.#serial = Math.max(this.#serial + 1, Math.floor(now / 1000)) >>> 0
    const rows = Map.groupBy(this.#rows.values(), ({ kind }) => kind)
    const challenges = challengesOf((rows.get('acme_challenge') ?? []).filter(row => isOpen(row, now)))
    const entries: ZoneEntry[] = [
      ...(rows.get('reserved_domain') ?? []).flatMap(aliasesOf),
      ...challenges,
      ...this.#above(challenges.map(([name]) => name)),
    ]
    const ingresses = (rows.get('agent_ingress') ?? []).map(row => this.#ingress(row))
    const plans = new Map([...ingresses, this.#shared()].map(plan => [plan.apex, plan]))
    const within = Map.groupBy(entries, ([name]) => nearest(name, plans))
    return new ZoneTable([...plans.values()].map(plan => this.#zone(plan, within.get(plan.apex) ?? [])))
  }

  #zone({ apex, servers, entries, reserved }: Plan, further: readonly ZoneEntry[]): Zone {
    const [primary = apex] = servers
    const zone = new Zone(
      apex,
      { primary, mailbox: `hostmaster.${apex}`, serial: this.#serial, negativeTtl: NEGATIVE_TTL },
      [
        [apex, nsSet(servers, DELEGATION_TTL)],
        [apex, caaSet(this.#options.authorities, TTL)],
        ...entries,
        ...further,
      ],
    )
    for (const name of reserved) zone.reserve(name)
    return zone
  }

  #shared(): Plan {
    const { domain, nameServerIps, addresses } = this.#options
    // Every node has a name server, unless this one's listens on one of several addresses.
    const isOne = nameServerIps !== undefined && nameServerIps.length < addresses.length
    const askedAt = this.#options.nodes === undefined || isOne ? nameServerIps : this.#nodes()
    const hosts = [...OWN_HOSTS, '*', '*.cname', '*.tcp'].map(label => `${label}.${domain}`)
    const servers = nameServers(domain)
    const entries = [
      ...[domain, ...hosts].flatMap(name => this.#leadsHere(name)),
      ...servers.flatMap(name => this.#leadsHere(name, askedAt)),
    ]
    // Challenge names exist only as long as the challenge; the wildcard must not match them.
    return { apex: domain, servers, entries, reserved: [`acme.${domain}`] }
  }

  #ingress(row: SourceRow): Plan {
    const apex = text(row, 'domain')
    const names = new Set([apex, ...texts(row, 'region_domains').map(name => name.toLowerCase())])
    const entries = [...names].flatMap(name => this.#leadsHere(name))
    return { apex, servers: texts(row, 'ns_targets'), entries, reserved: [] }
  }

  /**
   * RFC 4592 §2.2.2: the ancestors of an existing name exist too, so the shared domain's wildcard no longer matches
   * them and their neighbours. They keep their addresses while a challenge exists below them.
   */
  #above(challenges: readonly string[]): ZoneEntry[] {
    const { domain } = this.#options
    const names = new Set<string>()
    for (const challenge of challenges) {
      if (!challenge.endsWith(`.${domain}`) || challenge.endsWith(`.acme.${domain}`)) continue
      const labels = challenge.slice(0, -domain.length - 1).split('.')
      for (let first = 1; first < labels.length; first++) {
        const name = `${labels.slice(first).join('.')}.${domain}`
        names.add(name).add(`*.${name}`)
      }
    }
    return [...names].flatMap(name => this.#leadsHere(name))
  }

  /** Those of this node while no other is known to serve. */
  #nodes(): readonly string[] {
    const { nodes, addresses } = this.#options
    const serving = nodes?.() ?? []
    return serving.length > 0 ? [...new Set(serving)].toSorted() : addresses
  }

  #leadsHere(name: string, addresses = this.#nodes()): ZoneEntry[] {
    return addressSets(addresses, this.#options.nodes === undefined ? TTL : NODES_TTL).map(
      set => [name, set] as const,
    )
  }
}

interface Plan {
  readonly apex: string
  readonly servers: readonly string[]
  readonly entries: readonly ZoneEntry[]
  readonly reserved: readonly string[]
}

/** A custom name within a delegated domain needs no records from its owner. Others are not in our zones. */
function aliasesOf(row: SourceRow): ZoneEntry[] {
  const domain = text(row, 'domain')
  const [target, challenge] = [text(row, 'cname_target'), text(row, 'acme_challenge_cname_target')]
  return [
    ...(target === '' ? [] : [[domain, cnameSet(target, TTL)] as const]),
    // The shared domain is validated at its own name.
    ...(challenge === '' || challenge === challengeName(domain)
      ? []
      : [[challengeName(domain), cnameSet(challenge, TTL)] as const]),
  ]
}

const challengeName = (domain: string): string => `_acme-challenge.${domain.replace(/^\*\./, '')}`

const isOpen = ({ body: { expires_at: until } }: SourceRow, now: number): boolean =>
  (typeof until === 'string' ? Date.parse(until) : Number(until)) > now

/** RFC 8555 §8.4: at the name that the owner has pointed here, and at the name itself if it is ours. */
function challengesOf(rows: readonly SourceRow[]): ZoneEntry[] {
  const proofs = new Map<string, Set<string>>()
  for (const row of rows) {
    const authorization = row.body['key_authorization']
    if (row.body['type'] !== 'dns-01' || typeof authorization !== 'string') continue
    const proof = hash('sha256', authorization, 'base64url')
    for (const name of new Set([text(row, 'target'), challengeName(text(row, 'name'))])) {
      const known = proofs.get(name) ?? new Set()
      if (known.size < MAX_CHALLENGES) proofs.set(name, known.add(proof))
    }
  }
  return [...proofs].map(([name, values]) => [name, txtSet([...values], CHALLENGE_TTL)] as const)
}
