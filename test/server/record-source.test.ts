import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import { apiKey } from '#contract/kinds/api-key.ts'
import { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import { tlsCertificate } from '#contract/kinds/tls-certificate.ts'
import { newId, timestamp } from '#base/ids.ts'
import { readSettings } from '#base/read-settings.ts'
import { Sealer, tokenHash } from '#base/secrets.ts'
import { Records } from '#registry/records/records.ts'
import { openSealer } from '#server/first-start.ts'
import { RecordSource } from '#server/record-source.ts'
import { openStore } from '#store/open.ts'
import type { Store } from '#store/store.ts'
import { createResource } from '../support/each-store.ts'
import { issue } from '../support/openssl.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { startServer, type Caller, type TestServer } from '../support/server.ts'
import { recordingLog } from '../gateway/agents/support.ts'
import { testLog } from '../support/secrets.ts'
import { until } from '../support/until.ts'
import { Folder, newFolder } from '../support/folder.ts'

const log = testLog()

/** The records of a running server, read from its own database as another process would. */
async function following(dataDir: string, databaseUrl: string, pollMs: number) {
  const settings = readSettings(new Map(Object.entries({ data_dir: dataDir })), {})
  const store = await openStore({ databaseUrl, dataDir })
  const source = new RecordSource({ store, sealer: await openSealer(store, settings), log, pollMs })
  const records = new Records()
  const stop = await records.follow(source)
  return {
    source,
    records,
    async [Symbol.asyncDispose]() {
      stop()
      await store[Symbol.asyncDispose]()
    },
  }
}

type Following = Awaited<ReturnType<typeof following>>

function row(kind: string, body: object, version = 1) {
  const id = newId('x')
  return { id, kind, parent: null, version, body: JSON.stringify({ id, ...body }) }
}

const insert = (store: Store, rows: readonly ReturnType<typeof row>[]) =>
  store.commit(rows.map(each => ({ op: 'insert', entry: { row: each, refs: [], claims: [] } })))

/** One of each that the gateway reads, made by the API before and after the records are followed. */
async function madeByApi(api: Caller, follow: () => Promise<Following>) {
  using folder = new Folder()
  const { certificate, key } = await issue(folder, { name: 'app.example.com' })
  const early = await createResource(api, '/credentials', { acl: ['bind:app.example.com'] })
  const followed = await follow()
  const late = await createResource(api, '/credentials')
  const cert = await createResource(api, '/tls_certificates', {
    certificate_pem: certificate,
    private_key_pem: key,
  })
  const domain = await createResource(api, '/reserved_domains', {
    domain: 'app.example.com',
    certificate_id: cert.id,
  })
  const wide = await createResource(api, '/reserved_domains', { domain: '*.example.com' })
  const addr = await createResource(api, '/reserved_addrs')
  const group = await createResource(api, '/backends/tunnel_group', { labels: { app: 'a' } })
  const edge = await createResource(api, '/edges/https', { hostports: ['*.example.com:443'] })
  const route = await createResource(api, `/edges/https/${edge.id}/routes`, {
    match_type: 'path_prefix',
    match: '/',
    backend: { backend_id: group.id },
  })
  const tcpEdge = await createResource(api, '/edges/tcp', { hostports: ['any.test:20123'] })
  const policy = await createResource(api, '/ip_policies')
  await createResource(api, '/ip_policy_rules', {
    ip_policy_id: policy.id,
    cidr: '10.0.0.0/8',
    action: 'allow',
  })
  await createResource(api, '/ip_restrictions', { type: 'agent', enforced: true, ip_policy_ids: [policy.id] })
  await until(() => followed.records.restriction('agent'), { what: 'all of it is known' })
  return { followed, early, late, cert, domain, wide, addr, group, edge, route, tcpEdge }
}

suite('what the API made is found among the records of the gateway', () => {
  let database: TestPostgres
  let server: TestServer
  let things: Awaited<ReturnType<typeof madeByApi>>
  let records: Records
  before(async () => {
    database = await startPostgres()
    const url = await database.newDatabase()
    server = await startServer({ database_url: url })
    things = await madeByApi(server.api, () => following(server.dataDir, url, 20))
    records = things.followed.records
  })
  after(async () => {
    await things.followed[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
    await database.stop()
  })

  test('a credential from before, by its token, and a later one, by its id', () => {
    const { early, late } = things
    assert.partialDeepStrictEqual(records.credentialByToken(tokenHash(early.token)), {
      id: early.id,
      acl: ['bind:app.example.com'],
      ownerId: early.owner_id,
    })
    assert.equal(records.credential(late.id)?.id, late.id)
  })

  test('a reserved domain, by any name that it covers', () => {
    assert.equal(records.reservedDomain('app.example.com')?.id, things.domain.id)
    assert.equal(records.reservedDomain('x.y.example.com')?.id, things.wide.id)
    assert.equal(records.reservedDomain('example.com'), undefined)
  })

  test('a certificate with its key, by the name of its domain', () => {
    const found = records.certificate('app.example.com')
    assert.equal(found?.certificatePem, things.cert.certificate_pem)
    assert.match(String(found?.privateKeyPem.reveal()), /PRIVATE KEY/)
    assert.equal(records.certificate('x.example.com'), undefined)
  })

  test('an address and an edge, by the port, and an edge by the name', () => {
    assert.equal(records.reservedAddr(Number(things.addr.addr.split(':')[1]))?.id, things.addr.id)
    assert.equal(records.edgeForPort(20_123)?.id, things.tcpEdge.id)
    assert.equal(records.edgeForName('x.example.com')?.id, things.edge.id)
  })

  test('the routes of an edge', () => {
    assert.deepEqual(
      records.routesOf(things.edge.id).map(({ id }) => id),
      [things.route.id],
    )
  })

  test('a backend, by its id, and a tunnel group, by the labels of a tunnel', () => {
    const { group, edge } = things
    assert.equal(records.backend(group.id)?.kind, 'tunnel_group_backend')
    assert.equal(records.backend(edge.id), undefined)
    assert.deepEqual(
      records.groupsOf({ labels: { app: 'a', zone: 'b' }, ownerId: group.owner_id }).map(({ id }) => id),
      [group.id],
    )
  })

  test('a restriction, by what it restricts', () => {
    assert.equal(records.restriction('agent')?.allows('10.1.2.3'), true)
    assert.equal(records.restriction('agent')?.allows('11.1.2.3'), false)
    assert.equal(records.restriction('endpoints'), undefined)
  })

  test('no more when it was deleted, and elsewhere when it was changed', async () => {
    const { edge, tcpEdge, late } = things
    await server.api.delete(`/edges/https/${edge.id}`)
    await server.api.patch(`/edges/tcp/${tcpEdge.id}`, { hostports: ['any.test:20124'] })
    await server.api.delete(`/credentials/${late.id}`)
    await until(() => records.credential(late.id) === undefined, { what: 'the last change is known' })
    assert.equal(records.edgeForName('x.example.com'), undefined)
    assert.deepEqual(records.routesOf(edge.id), [])
    assert.equal(records.edgeForPort(20_123), undefined)
    assert.equal(records.edgeForPort(20_124)?.id, tcpEdge.id)
  })
})

suite('the records of the gateway', () => {
  let database: TestPostgres
  before(async () => {
    database = await startPostgres()
  })
  after(() => database.stop())

  test('change at once when they are notified, however rarely the store is polled', async () => {
    const url = await database.newDatabase()
    await using server = await startServer({ database_url: url })
    await using world = await following(server.dataDir, url, 600_000)
    const { id } = await createResource(server.api, '/credentials')
    assert.equal(world.records.credential(id), undefined)
    world.source.notify()
    await until(() => world.records.credential(id) !== undefined, { what: 'it is known' })
  })
})

suite('the source of records', () => {
  const sealer = new Sealer(randomBytes(32))
  const open = () => openStore({ databaseUrl: undefined, dataDir: newFolder() })

  test('keeps the records while the store fails, and continues when it works again', async () => {
    await using store = await open()
    const received = recordingLog()
    let failing = false
    const flaky = new Proxy(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        return (...given: unknown[]) =>
          failing ? Promise.reject(new Error('down')) : Reflect.apply(member, target, given)
      },
    })
    const [first, second] = [row('credential', { acl: [] }), row('credential', { acl: [] })]
    await insert(store, [first])
    const records = new Records()
    const stop = await records.follow(
      new RecordSource({ store: flaky, sealer, log: received.log, pollMs: 10 }),
    )
    failing = true
    await insert(store, [second])
    await until(() => received.lines.some(({ level }) => level === 'warn'), {
      what: 'the failure was logged',
    })
    assert.ok(records.credential(first.id))
    assert.equal(records.credential(second.id), undefined)
    failing = false
    await until(() => records.credential(second.id) !== undefined, { what: 'the change is known' })
    assert.equal(received.lines.filter(({ level }) => level === 'warn').length, 1)
    stop()
  })

  test('reports when a committed change is applied, during other writes', async () => {
    await using store = await open()
    const records = new Records()
    const source = new RecordSource({ store, sealer, log, pollMs: 600_000 })
    const stop = await records.follow(source)
    await source.applied()
    const { promise: mayRead, resolve: release } = Promise.withResolvers<void>()
    const changes = store.changes.bind(store)
    store.changes = async (...given) => {
      await mayRead
      // Each pass finds that it must read again.
      source.notify()
      return changes(...given)
    }
    const added = row('credential', { acl: [] })
    await insert(store, [added])
    source.notify()
    const applied = source.applied()
    assert.equal(records.credential(added.id), undefined)
    release()
    await applied
    assert.ok(records.credential(added.id))
    stop()
  })

  test('reads everything again when changes were pruned before it saw them', async () => {
    await using store = await open()
    const rows = [1, 2, 3].map(() => row('credential', { acl: [] }))
    await insert(store, rows)
    const records = new Records()
    const source = new RecordSource({ store, sealer, log, pollMs: 600_000 })
    const stop = await records.follow(source)
    const reported: string[] = []
    records.onChange(['credential'], ({ id }) => reported.push(id))
    const [gone, kept] = rows
    const added = row('credential', { acl: [] })
    await store.commit([{ op: 'remove', id: gone?.id ?? '', version: 1 }])
    await insert(store, [added])
    await store.prune({ changesUpTo: await store.revision(), eventsBefore: timestamp(0) })
    source.notify()
    await until(() => records.credential(added.id) !== undefined, { what: 'the new one is known' })
    assert.equal(records.credential(gone?.id ?? ''), undefined)
    assert.ok(records.credential(kept?.id ?? ''))
    assert.deepEqual(new Set(reported), new Set([gone?.id, added.id]))
    stop()
  })

  test('includes a row whose secrets cannot be decrypted, without its secrets', async () => {
    await using store = await open()
    const certificate = row('tls_certificate', { certificate_pem: 'x', private_key_pem: 'sealed.by-another' })
    await insert(store, [
      certificate,
      row('reserved_domain', { domain: 'a.test', certificate: certificate.id }),
    ])
    const records = new Records()
    const stop = await records.follow(new RecordSource({ store, sealer, log }))
    assert.equal(records.get(tlsCertificate, certificate.id)?.readable, false)
    assert.equal(records.certificate('a.test'), undefined)
    stop()
  })

  test('returns only requested kinds, and pages of any size', async () => {
    await using store = await open()
    const many = Array.from({ length: 2001 }, (_, at) => row('reserved_domain', { domain: `n${at}.test` }))
    await insert(store, [...many, row('api_key', { description: 'x' })])
    const records = new Records()
    const stop = await records.follow(new RecordSource({ store, sealer, log }))
    assert.equal([...records.all(reservedDomain)].length, 2001)
    assert.equal([...records.all(apiKey)].length, 0)
    stop()
  })
})

test('a record never becomes older, whatever two servers write while it is read', async () => {
  await using closing = new AsyncDisposableStack()
  const database = closing.adopt(await startPostgres(), each => each.stop())
  const databaseUrl = await database.newDatabase()
  const store = closing.use(await openStore({ databaseUrl, dataDir: '' }))
  const other = closing.use(await openStore({ databaseUrl, dataDir: '' }))
  const first = row('credential', { acl: [] })
  const update = (by: Store, version: number) =>
    by.commit([{ op: 'update', entry: { row: { ...first, version }, refs: [], claims: [] } }])
  await insert(store, [first])

  let beforeRead: (() => Promise<unknown>) | undefined
  const interrupted = new Proxy(store, {
    get: (target, name: keyof Store) => {
      const value: unknown = target[name]
      if (typeof value !== 'function') return value
      return (...given: unknown[]) => {
        const call = () => value.apply(target, given) as unknown
        const between = name === 'getMany' ? beforeRead : undefined
        beforeRead = name === 'getMany' ? undefined : beforeRead
        return between ? between().then(call) : call()
      }
    },
  })
  const source = new RecordSource({
    store: interrupted,
    sealer: new Sealer(randomBytes(32)),
    log,
    pollMs: 600_000,
  })
  store.onCommit(revision => source.notify(revision))
  const versions: number[] = []
  const seen = (rows: readonly { readonly version: number }[]) =>
    versions.push(...rows.map(({ version }) => version))
  const stop = await source.watch(['credential'], {
    snapshot: seen,
    changes: batch => void seen(batch.flatMap(change => (change.op === 'put' ? [change.row] : []))),
  })
  closing.defer(stop)
  await source.refresh()

  // The third version is this server's own, and known to its reader, which has read the fourth meanwhile.
  await update(other, 2)
  beforeRead = async () => {
    await update(store, 3)
    await update(other, 4)
  }
  await source.refresh()
  await source.applied()
  assert.equal(versions.at(-1), 4)
  assert.deepEqual(
    versions,
    versions.toSorted((a, b) => a - b),
  )
})

test('a hundred thousand records are loaded in time', () => {
  const records = new Records()
  const make = (at: number, version = 1) => ({
    kind: 'credential',
    id: `cr_${at}`,
    parent: null,
    version,
    body: { token_hash: `hash${at}`, acl: [] },
    readable: true,
  })
  const rows = Array.from({ length: 100_000 }, (_, at) => make(at))
  records.snapshot(rows)
  const begun = performance.now()
  for (let at = 0; at < 1000; at++) records.changes([{ op: 'put', row: make(at * 7, 2) }])
  const each = (performance.now() - begun) / 1000
  assert.ok(each < 10, `a change took ${each} ms`)
  assert.equal(records.credentialByToken('hash99999')?.id, 'cr_99999')
})
