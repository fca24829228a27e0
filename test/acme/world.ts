import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { Accounts } from '#acme/accounts.ts'
import type { AcmeClient } from '#acme/client.ts'
import { AccountKey } from '#acme/jws.ts'
import type { AcmeTimings } from '#acme/timings.ts'
import type { Call, Deps } from '#api/call.ts'
import type { Live } from '#api/live.ts'
import { find } from '#api/records.ts'
import { remove } from '#api/removing.ts'
import { change, create, update } from '#api/writing.ts'
import { createEgress } from '#base/egress-client.ts'
import type { Egress } from '#base/egress.ts'
import { createLog } from '#base/log.ts'
import { readSettings } from '#base/read-settings.ts'
import { Secret, type Sealer } from '#base/secrets.ts'
import type { Settings } from '#base/settings.ts'
import type { ResourceBody } from '#contract/body.ts'
import { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import { tlsCertificate } from '#contract/kinds/tls-certificate.ts'
import type { Stored } from '#contract/shape.ts'
import { openAcme, openAuthority, type AcmeHandle } from '#domains/acme.ts'
import { findAccount, openSealer } from '#server/first-start.ts'
import { RecordSource } from '#server/record-source.ts'
import { openStore } from '#store/open.ts'
import type { Row, Store } from '#store/store.ts'
import type { Pebble } from './pebble.ts'
import { until } from '../support/until.ts'
import { newFolder } from '../support/folder.ts'

export type Domain = Stored<typeof reservedDomain.shape> & { readonly id: string }
type Certificate = Stored<typeof tlsCertificate.shape>

/** Everything at once, so that tests take seconds. */
export const quickTimings: Partial<AcmeTimings> = { pollMs: 20, settleMs: 0, retryMs: 50, leaseMs: 300 }

/** Where processes compete for orders: so long that none loses one because it stood still. */
export const SHARED_LEASE_MS = 4000

const DOMAIN = 'base.test'

export interface Place {
  readonly directory: string
  readonly rootFile: string
  /** A name server. */
  readonly dns: string
}

/** A database, and what issues certificates for the domains in it. */
/** An authority takes its time, and these tests share the machine with others. */
export const ISSUING = { withinMs: 120_000 }

export class World implements AsyncDisposable {
  readonly store: Store
  readonly settings: Settings
  /** Lines of the log of all that issues. */
  readonly logged: string[] = []
  readonly #sealer: Sealer
  readonly #folder: string | undefined
  readonly #info: Deps['info']
  readonly #issuers: AcmeHandle[] = []
  readonly #waiting = new Set<() => void>()

  private constructor(store: Store, settings: Settings, sealer: Sealer, info: Deps['info'], folder?: string) {
    this.store = store
    this.settings = settings
    this.#sealer = sealer
    this.#info = info
    this.#folder = folder
    store.onCommit(() => this.#received())
  }

  /** In a folder of its own that goes with it, or in one that stays. */
  static async open(place: Place, more: Record<string, string> = {}, kept?: string): Promise<World> {
    const folder = kept ?? newFolder()
    const flags = {
      data_dir: folder,
      domain: DOMAIN,
      acme_directory: place.directory,
      acme_ca_file: place.rootFile,
      acme_dns: place.dns,
      egress_allow: '127.0.0.0/8',
      public_addresses: '127.0.0.99',
      // Nothing listens there: the tests respond for it.
      dns_addr: '127.0.0.1:0',
      log_level: 'silent',
      ...more,
    }
    const settings = readSettings(new Map(Object.entries(flags)), {})
    const store = await openStore({ databaseUrl: settings.database_url, dataDir: folder })
    const sealer = await openSealer(store, settings)
    const account = await findAccount(store, Date.now())
    const ports = { first: 1024, last: 65_535 }
    const facts = {
      accountId: account.id,
      accountCreatedAt: account.createdAt,
      domain: settings.domain,
      region: 'us',
      signInUrl: '',
      tcpPorts: ports,
      randomTcpPorts: ports,
      fullCapture: false,
    }
    return new World(store, settings, sealer, facts, kept === undefined ? folder : undefined)
  }

  get call(): Call {
    const principal = { id: this.#info.accountId, role: 'admin', subject: 'test', keyId: '' } as const
    return { ...this.deps(this.store), principal, base: 'http://api.test', ip: '127.0.0.1' }
  }

  deps(store: Store): Deps {
    return {
      store,
      sealer: this.#sealer,
      live: {} as Live,
      info: this.#info,
      now: Date.now,
      refreshUsage: async () => undefined,
      checkDomain: () => assert.fail(),
    }
  }

  source(store: Store = this.store): RecordSource {
    const source = new RecordSource({ store, sealer: this.#sealer, log: createLog('silent'), pollMs: 50 })
    store.onCommit(() => source.notify())
    return source
  }

  /** Starts to issue, just as the server does; on a store of its own if need be. */
  async issue(timings: Partial<AcmeTimings> = {}, store: Store = this.store): Promise<AcmeHandle> {
    const { settings } = this
    const client = openAuthority(settings)
    const log = createLog('info', { write: line => void this.logged.push(line) })
    const side = openAcme({
      settings,
      client,
      api: this.deps(store),
      source: this.source(store),
      log,
      timings: { ...quickTimings, ...timings },
    })
    this.#issuers.push(side)
    await side.start('http://api.test')
    return side
  }

  /** Reserves a domain; its key is of the fast type by default. */
  async reserve(domain: string, keyType: 'rsa' | 'ecdsa' = 'ecdsa'): Promise<Domain> {
    const policy = { authority: 'letsencrypt', private_key_type: keyType }
    const made = await create(
      reservedDomain,
      { domain, certificate_management_policy: policy },
      null,
      this.call,
    )
    return this.domain(String(made['id']))
  }

  /** The reservation of exactly this name. */
  async reservation(name: string): Promise<Domain> {
    const row = await this.store.holder({ namespace: 'domain', value: name })
    return this.domain(row?.id ?? '')
  }

  async change(id: string, given: ResourceBody): Promise<void> {
    await update({ kind: reservedDomain, id, parent: null }, given, this.call)
  }

  remove(id: string): Promise<void> {
    return remove({ kind: reservedDomain, id, parent: null }, this.call)
  }

  async domain(id: string): Promise<Domain> {
    return (await find({ kind: reservedDomain, id, parent: null }, this.call)).body as Domain
  }

  /** As an action of the API does. */
  async rewrite(id: string, fields: ResourceBody): Promise<void> {
    const address = { kind: reservedDomain, id, parent: null }
    await change(address, this.call, ({ body }) => ({ body: { ...body, ...fields }, given: {} }))
  }

  job = async (id: string) => (await this.domain(id)).certificate_management_status?.provisioning_job

  /** The certificate that a domain has, with its key. */
  async certificate(id: string): Promise<Certificate | undefined> {
    const { certificate } = await this.domain(id)
    if (!certificate) return undefined
    const address = { kind: tlsCertificate, id: certificate, parent: null }
    return (await find(address, this.call)).body as Certificate
  }

  /** The leaf that a domain is served with. */
  async leaf(id: string): Promise<X509Certificate> {
    const found = await this.certificate(id)
    if (found === undefined) throw new Error('it has no certificate')
    return new X509Certificate(found.certificate_pem)
  }

  /** The account at the authority as the installation has it. */
  async account(): Promise<{
    readonly key: AccountKey
    readonly url: string | null
    readonly isChanging: boolean
  }> {
    const [row, ...others] = await this.rows('acme_account')
    assert.ok(row && others.length === 0, 'there is one account')
    const { key, url, next_key: next } = JSON.parse(row.body) as Record<string, string | null>
    const pem = new Secret(this.#sealer.unseal(key ?? '', row.id))
    return { key: AccountKey.open(pem), url: url ?? null, isChanging: typeof next === 'string' }
  }

  /** The same account as a process has it whose writes go through this store. */
  accounts(store: Store = this.store): Accounts {
    const client = this.client()
    const log = createLog('info', { write: line => void this.logged.push(line) })
    return new Accounts({ store, sealer: this.#sealer, client, email: undefined, log, now: Date.now })
  }

  /** A way to the authority for the test itself. */
  get egress(): Egress {
    const { acme_ca_file: file = '', egress_allow: allow = [] } = this.settings
    return createEgress({ allow, ca: [readFileSync(file, 'utf8')] })
  }

  client(): AcmeClient {
    const client = openAuthority(this.settings)
    assert.ok(client)
    return client
  }

  rows(kind: string): Promise<Row[]> {
    return this.store.list(kind, { limit: 1000 })
  }

  /** Resolves as soon as a question has an answer that is neither undefined nor false; looks after each write. */
  until<Answer>(question: () => Promise<Answer>) {
    return until(question, { next: () => this.#next(), ...ISSUING })
  }

  issued = (id: string): Promise<Certificate> => this.until(() => this.certificate(id))

  /** The status once issuing has failed. */
  failure(id: string) {
    return this.until(async () => {
      const job = await this.job(id)
      return job?.error_code ? job : undefined
    })
  }

  #next(): Promise<void> {
    return new Promise(resolve => {
      // Other processes write without a notification.
      const timer = setTimeout(resolve, 100)
      this.#waiting.add(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  #received(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const tell of waiting) tell()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#issuers.map(side => side.close()))
    await this.store[Symbol.asyncDispose]()
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true })
  }
}

/** Sets the records that the owner of a domain sets. */
export async function setDnsRecords(pebble: Pebble, domain: Domain): Promise<void> {
  const { cname_target: target, acme_challenge_cname_target: challenge } = domain
  if (target === null) throw new Error('a shared name')
  await pebble.configure('add-a', { host: target, addresses: ['127.0.0.1'] })
  await pebble.configure('set-cname', { host: domain.domain, target })
  if (challenge === null) return
  await pebble.configure('set-cname', {
    host: `_acme-challenge.${domain.domain.slice(2)}`,
    target: challenge,
  })
}

/** No order and no challenge is left after its purpose. */
export async function assertNothingLeft(world: World): Promise<void> {
  const left = [...(await world.rows('acme_order')), ...(await world.rows('acme_challenge'))]
  assert.deepEqual(
    left.map(({ body }) => body),
    [],
  )
}
