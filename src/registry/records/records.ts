import { guarded } from '#base/background.ts'
import { type Log, silentLog } from '#base/log.ts'
import type { Kind } from '#contract/kind.ts'
import type { agentIngress } from '#contract/kinds/agent-ingress.ts'
import { backends, type tunnelGroupBackend } from '#contract/kinds/backends.ts'
import type { httpsEdge, tcpEdge, tlsEdge } from '#contract/kinds/edges.ts'
import type { httpsEdgeRoute } from '#contract/kinds/https-edge-route.ts'
import type { reservedAddr } from '#contract/kinds/reserved-addr.ts'
import type { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import { sshCertificateAuthority } from '#contract/kinds/ssh.ts'
import { tlsCertificate } from '#contract/kinds/tls-certificate.ts'
import { kinds } from '#contract/kinds/index.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import {
  type Credential,
  credentialOf,
  type CredentialRow,
  isCredential,
} from '#registry/records/credentials.ts'
import * as keys from '#registry/records/keys.ts'
import { RowIndex, type ChangingIndex } from '#registry/records/row-index.ts'
import { type Owner, ownerOf } from '#registry/records/owners.ts'
import { type Restricted, type Restriction, Restrictions } from '#registry/records/restrictions.ts'
import { type ServedCertificate, servedCertificate } from '#registry/records/served-certificate.ts'
import { SpacedRead } from '#registry/records/spaced-read.ts'
import type { Follower, RowOf, Source, SourceChange, SourceRow } from '#registry/records/source.ts'
import { groupOf, joins } from '#registry/records/tunnel-group.ts'
import { wildcardsOver } from '#base/hosts.ts'

type NamedEdgeRow = RowOf<typeof httpsEdge> | RowOf<typeof tlsEdge>

/** The change of one row; `before` and `after` are undefined where it does not exist. */
export interface RecordChange {
  readonly kind: string
  readonly id: string
  readonly before: SourceRow | undefined
  readonly after: SourceRow | undefined
}

type Listener = (change: RecordChange) => void

/** The kinds that the gateway uses. The CA's challenges are rows without a kind of the contract. */
const followed: readonly string[] = [
  ...Object.values<Kind>(kinds)
    .filter(({ followedByGateway }) => followedByGateway === true)
    .map(({ name }) => name),
  'acme_challenge',
]
const restricting = new Set(['ip_policy', 'ip_policy_rule', 'ip_restriction'])

/** The configuration, in memory; a change touches only its own rows. */
export class Records implements Follower {
  readonly #log: Log
  #latest: SpacedRead | undefined
  readonly #rows = new Map<string, SourceRow>()
  readonly #byKind = new Map<string, Map<string, SourceRow>>()
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #general = new Set<Listener>()
  readonly #tokens = new RowIndex(keys.tokenKey)
  readonly #fingerprints = new RowIndex(keys.fingerprintKey)
  readonly #domains = new RowIndex(keys.domainKey)
  readonly #ingresses = new RowIndex(keys.ingressKeys)
  readonly #addrPorts = new RowIndex(keys.addrPortKey)
  readonly #edgeNames = new RowIndex(keys.edgeNameKeys)
  readonly #edgePorts = new RowIndex(keys.edgePortKeys)
  readonly #routes = new RowIndex<RowOf<typeof httpsEdgeRoute>>(keys.parentKey)
  readonly #rules = new RowIndex(keys.policyKey)
  readonly #restrictionTypes = new RowIndex(keys.typeKey)
  readonly #groups = new RowIndex(keys.groupKey)
  readonly #challenges = new RowIndex(keys.challengeKey)
  readonly #restrictions = new Restrictions(this.#restrictionTypes, this.#rules)
  readonly #indexes: ReadonlyMap<string, ChangingIndex> = new Map<string, ChangingIndex>([
    ['acme_challenge', this.#challenges],
    ['credential', this.#tokens],
    ['ssh_credential', this.#fingerprints],
    ['reserved_domain', this.#domains],
    ['agent_ingress', this.#ingresses],
    ['reserved_addr', this.#addrPorts],
    ['https_edge', this.#edgeNames],
    ['tls_edge', this.#edgeNames],
    ['tcp_edge', this.#edgePorts],
    ['https_edge_route', this.#routes],
    ['ip_policy_rule', this.#rules],
    ['ip_restriction', this.#restrictionTypes],
    ['tunnel_group_backend', this.#groups],
  ])

  constructor(log: Log = silentLog) {
    this.#log = log
  }

  /** Follows a source; resolves after the first snapshot. */
  async follow(source: Source): Promise<() => void> {
    this.#latest = new SpacedRead(() => source.refresh())
    return source.watch(followed, this)
  }

  /** For what is not found here, but may have just been created elsewhere. Never rejects. */
  async refresh(): Promise<void> {
    await this.#latest?.run()
  }

  snapshot(rows: readonly SourceRow[]): void {
    const kept = new Set(rows.map(({ id }) => id))
    const gone = [...this.#rows.values()].filter(({ id }) => !kept.has(id))
    const changed = rows.filter(row => !this.#isKnown(row))
    this.changes([
      ...gone.map(({ kind, id }) => ({ op: 'remove', kind, id }) as const),
      ...changed.map(row => ({ op: 'put', row }) as const),
    ])
  }

  changes(batch: readonly SourceChange[]): void {
    const done = batch.map(change => this.#apply(change)).filter(change => change !== undefined)
    for (const { kind, before, after } of done) {
      if (!restricting.has(kind)) continue
      for (const row of [before, after]) if (row !== undefined) this.#restrictions.changed(row)
    }
    // Only now, so that listeners never see a half-applied change.
    for (const change of done) {
      const { kind, id } = change
      const background = { task: 'configuration', log: this.#log, about: { kind, id } } as const
      for (const listener of [...(this.#listeners.get(kind) ?? []), ...this.#general])
        guarded(background, () => listener(change))
    }
  }

  /** Reports every change of the kinds with these names; returns how to stop it. */
  onChange(names: readonly string[], listener: Listener): () => void {
    for (const kind of names) {
      const listeners = this.#listeners.get(kind) ?? new Set()
      this.#listeners.set(kind, listeners.add(listener))
    }
    return () => names.forEach(kind => this.#listeners.get(kind)?.delete(listener))
  }

  onAnyChange(listener: Listener): () => void {
    this.#general.add(listener)
    return () => this.#general.delete(listener)
  }

  /** Every row of a kind, in no particular order. */
  all<K extends Kind>({ name }: K): Iterable<RowOf<K>> {
    return (this.#byKind.get(name)?.values() ?? []) as Iterable<RowOf<K>>
  }

  get<K extends Kind>({ name }: K, id: string): RowOf<K> | undefined {
    return this.#byKind.get(name)?.get(id) as RowOf<K> | undefined
  }

  credentialByToken(tokenHash: string): Credential | undefined {
    return this.#credential(this.#tokens.one(tokenHash))
  }

  /** A credential of an agent or of an SSH client, or the CA that signed a client's certificate. */
  credential(id: string): Credential | undefined {
    const row = this.#rows.get(id)
    return row !== undefined && isCredential(row) ? this.#credential(row) : undefined
  }

  /** The SSH credentials of a public key: at most one for each owner that has registered it. */
  sshCredentials(fingerprint: string): Credential[] {
    return this.#fingerprints.all(fingerprint).flatMap(row => this.#credential(row) ?? [])
  }

  /** The trusted SSH CAs; a public key is a line of authorized_keys. */
  sshAuthorities(): { readonly id: string; readonly publicKey: string }[] {
    return [...this.all(sshCertificateAuthority)]
      .filter(row => this.#credential(row)?.active === true)
      .map(row => ({ id: row.id, publicKey: keys.textOf(row, 'public_key') }))
  }

  /** The user or bot with this id. */
  owner(id: string): Owner | undefined {
    return ownerOf(this.#rows.get(id))
  }

  #credential(row: CredentialRow | undefined): Credential | undefined {
    return row && credentialOf(row, this.owner(keys.textOf(row, 'owner_id')))
  }

  restriction(type: Restricted): Restriction | undefined {
    return this.#restrictions.of(type)
  }

  /** The filter of these IP policies; it follows their changes. */
  addressesAllowed(policies: readonly string[]): (ip: string) => boolean {
    return this.#restrictions.allowedBy(policies)
  }

  /** The reservation of exactly this name, or of the nearest wildcard over it. */
  reservedDomain(name: string): RowOf<typeof reservedDomain> | undefined {
    return this.#overName(this.#domains, name)
  }

  /** The reservation of exactly this name, which may be a wildcard. */
  domainNamed(name: string): RowOf<typeof reservedDomain> | undefined {
    return this.#domains.one(name)
  }

  /** The agent ingress of a name that agents connect to. */
  agentIngress(name: string): RowOf<typeof agentIngress> | undefined {
    return this.#ingresses.one(name)
  }

  reservedAddr(port: number): RowOf<typeof reservedAddr> | undefined {
    return this.#addrPorts.one(String(port))
  }

  /** The certificate of the nearest reservation that has one; else that of the shared domain. */
  certificate(name: string): ServedCertificate | undefined {
    for (const each of [name, ...wildcardsOver(name)]) {
      const found = this.#certificateOf(this.#domains.one(each))
      if (found !== undefined) return found
    }
    const ofIngress = this.#certificateOf(this.#ingresses.one(name))
    if (ofIngress !== undefined) return ofIngress
    for (const wildcard of wildcardsOver(name)) {
      const row = this.#domains.one(wildcard.slice(2))
      const found = row && keys.coversAll(row) ? this.#certificateOf(row) : undefined
      if (found !== undefined) return found
    }
    return undefined
  }

  #certificateOf(
    owner: RowOf<typeof reservedDomain> | RowOf<typeof agentIngress> | undefined,
  ): ServedCertificate | undefined {
    const id = owner?.body.certificate
    const row = typeof id === 'string' ? this.get(tlsCertificate, id) : undefined
    return row && servedCertificate(row)
  }

  /** The HTTP-01 response for this token. */
  httpChallenges(token: string): readonly SourceRow[] {
    return this.#challenges.all(`http-01 ${token}`)
  }

  /** The TLS-ALPN-01 challenges for this name; the newest is last. */
  tlsChallenges(name: string): readonly SourceRow[] {
    return this.#challenges.all(`tls-alpn-01 ${name}`)
  }

  /** The HTTPS or TLS edge of exactly this name, which may be a wildcard. */
  edgeNamed(name: string): NamedEdgeRow | undefined {
    return this.#edgeNames.one(name)
  }

  /** The HTTPS or TLS edge for a name, exact or by the nearest wildcard. */
  edgeForName(name: string): NamedEdgeRow | undefined {
    return this.#overName(this.#edgeNames, name)
  }

  /** The TCP edge on a port. */
  edgeForPort(port: number): RowOf<typeof tcpEdge> | undefined {
    return this.#edgePorts.one(String(port))
  }

  routesOf(edgeId: string): readonly RowOf<typeof httpsEdgeRoute>[] {
    return this.#routes.all(edgeId)
  }

  /** A backend of any kind. */
  backend(id: string): SourceRow | undefined {
    const row = this.#rows.get(id)
    return row !== undefined && backends.kinds.includes(row.kind) ? row : undefined
  }

  /** The tunnel groups that a tunnel belongs to. */
  groupsOf(tunnel: Pick<TunnelRecord, 'labels' | 'ownerId'>): RowOf<typeof tunnelGroupBackend>[] {
    return Object.entries(tunnel.labels)
      .flatMap(([name, value]) => this.#groups.all(keys.labelText(name, value)))
      .filter(row => joins(tunnel, groupOf(row)))
  }

  #overName<Row extends SourceRow>(index: RowIndex<Row>, name: string): Row | undefined {
    const exact = index.one(name)
    if (exact !== undefined) return exact
    for (const wildcard of wildcardsOver(name)) {
      const row = index.one(wildcard)
      if (row !== undefined) return row
    }
    return undefined
  }

  #isKnown({ id, version, readable }: SourceRow): boolean {
    const known = this.#rows.get(id)
    return known?.version === version && known.readable === readable
  }

  #apply(change: SourceChange): RecordChange | undefined {
    const { kind, id } = change.op === 'put' ? change.row : change
    const before = this.#rows.get(id)
    const after = change.op === 'put' ? change.row : undefined
    if (before === undefined && after === undefined) return undefined
    const rows = this.#byKind.get(kind) ?? new Map<string, SourceRow>()
    this.#byKind.set(kind, rows)
    this.#reindex(kind, before, after)
    if (after === undefined) {
      this.#rows.delete(id)
      rows.delete(id)
    } else {
      this.#rows.set(id, after)
      rows.set(id, after)
    }
    return { kind, id, before, after }
  }

  /** A row with unreadable keys is found only by its id. */
  #reindex(kind: string, before: SourceRow | undefined, after: SourceRow | undefined): void {
    const index = this.#indexes.get(kind)
    if (index === undefined) return
    const background = { task: 'configuration', log: this.#log, failed: 'record cannot be used' } as const
    const { id } = after ?? before ?? {}
    guarded({ ...background, about: { kind, id } }, () => {
      if (before !== undefined) index.remove(before)
      if (after !== undefined) index.add(after)
    })
  }
}
