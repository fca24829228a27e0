import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { show } from '#api/showing.ts'
import { find } from '#api/records.ts'
import { create } from '#api/writing.ts'
import { Secret } from '#base/secrets.ts'
import { eventTypes } from '#contract/events/index.ts'
import { tlsCertificate } from '#contract/kinds/tls-certificate.ts'
import { AuditLog } from '#events/audit-log.ts'
import { certificateWrites } from '#domains/acme/new-certificate.ts'
import { openExpiry } from '#domains/expiry/expiry-watch.ts'
import { openStore } from '#store/open.ts'
import type { Store } from '#store/store.ts'
import { issueCertificate } from '../tls/test-certificates.ts'
import { recordingLog } from '../gateway/agents/support.ts'
import { createResource } from '../support/each-store.ts'
import { startPostgres } from '../support/postgres.ts'
import { startServer } from '../support/server.ts'
import { withCommit } from '../acme/challenge-responder.ts'
import { World } from '../acme/world.ts'
import { until } from '../support/until.ts'

const DAY = 86_400_000
/** Certificates know whole seconds only. */
const START = Math.floor(Date.now() / 1000) * 1000
const EXPIRING = 'tls_certificate_expiring.v0'
const EXPIRED = 'tls_certificate_expired.v0'

const place = { directory: 'off', rootFile: import.meta.filename, dns: '127.0.0.1:9' }

const pems = (name: string, days: number) =>
  issueCertificate({
    name,
    to: START + days * DAY,
    from: START - 300 * DAY,
    names: [{ type: 'dns', value: name }],
  })

/** Uploads a certificate that ends in so many days; returns its id. */
async function upload(world: World, name: string, days: number): Promise<string> {
  const { pem, keyPem } = await pems(name, days)
  const given = { certificate_pem: pem, private_key_pem: keyPem }
  return String((await create(tlsCertificate, given, null, world.call))['id'])
}

/** The same as it is when we have had it issued. */
async function issued(world: World, name: string, days: number): Promise<string> {
  const { pem, keyPem } = await pems(name, days)
  const certificate = { chainPem: pem, keyPem: new Secret(keyPem), renewsAt: START }
  const { id, writes } = await certificateWrites(certificate, { domain: name, owner: '' }, world.call)
  await world.store.commit(writes)
  return id
}

interface Envelope {
  readonly event_type: string
  readonly event_timestamp: string
  readonly principal: Readonly<Record<string, unknown>>
  readonly object: Readonly<Record<string, unknown>>
}

/** The events about expiring certificates, in order. */
async function published({ store }: Pick<World, 'store'>): Promise<Envelope[]> {
  const events = await store.events(0, 1000)
  return events
    .filter(({ type }) => type === EXPIRING || type === EXPIRED)
    .map(({ body }) => JSON.parse(body) as Envelope)
}

const toldOf = async (world: World, id: string): Promise<string[]> =>
  (await published(world)).filter(({ object }) => object['id'] === id).map(({ event_type: type }) => type)

/** What the server starts, as it is so many days later. */
async function watchAt(world: World, days: number, store: Store = world.store) {
  const { log, lines } = recordingLog()
  const api = { ...world.deps(store), now: () => START + days * DAY }
  const side = openExpiry({ api, source: world.source(store), log })
  await side.start('http://api.test')
  return { lines, [Symbol.asyncDispose]: () => side.close() }
}

/** Resolves when all there was before has been looked at: certificates are looked at in the order in which they come. */
async function looked(world: World): Promise<void> {
  const last = await upload(world, 'last.example', -300 + 1 / 24)
  await world.until(async () => (await toldOf(world, last)).length === 1)
}

suite('certificates that end', () => {
  test('are reported at each stage once, over any number of restarts, with what to do', async () => {
    await using world = await World.open(place)
    const id = await upload(world, 'shop.example', 31)
    const days = [0, 1, 1.5, 2, 17, 18, 24, 25, 28, 29, 30, 30.5, 31, 32, 400]
    const steps: [number, string, string][] = []
    for (const day of days) {
      await using watch = await watchAt(world, day)
      await looked(world)
      for (const { level, fields, text } of watch.lines)
        if (fields['certificate'] === id) {
          assert.deepEqual(fields['names'], ['shop.example'])
          assert.equal(fields['ends'], new Date(START + 31 * DAY).toISOString().replace('.000', ''))
          assert.match(String(fields['todo']), /^it is unused/)
          steps.push([day, level, text])
        }
    }
    const soon = 'certificate expires soon'
    assert.deepEqual(steps, [
      [1, 'warn', soon],
      [17, 'warn', soon],
      [24, 'warn', soon],
      [28, 'warn', soon],
      [30, 'warn', soon],
      [31, 'error', 'certificate has expired'],
    ])
    assert.deepEqual(await toldOf(world, id), [...Array.from({ length: 5 }, () => EXPIRING), EXPIRED])
  })

  test('are shown in the events and the audit log as the API shows them, by the server itself', async () => {
    await using world = await World.open(place)
    const id = await upload(world, 'object.example', 5)
    await using servers = new AsyncDisposableStack()
    servers.use(await watchAt(world, 0))
    await world.until(async () => (await toldOf(world, id)).length === 1)
    const [event] = await published(world)
    const { body } = await find({ kind: tlsCertificate, id, parent: null }, world.call)
    assert.equal((body as { expiry_told?: string }).expiry_told, '7')
    assert.deepEqual(event?.object, await show(tlsCertificate, { ...body }, world.call))
    assert.ok(!JSON.stringify(event).includes('PRIVATE KEY') && !('expiry_told' in (event?.object ?? {})))
    assert.equal(event?.event_timestamp, new Date(START).toISOString().replace('.000', ''))
    const { accountId } = world.call.info
    const principal = { id: accountId, subject: 'adit', source: 'System', ip: null, credential: null }
    assert.deepEqual(event?.principal, principal)
    const { found } = await new AuditLog(world.store).list({ limit: 10, filters: { type: EXPIRING } })
    assert.deepEqual(
      found.map(({ principal: by, object }) => ({ by, object })),
      [{ by: principal, object: event?.object }],
    )
    assert.ok(eventTypes.has(EXPIRING) && eventTypes.has(EXPIRED))
  })

  test('are reported with advice for their use: own certificates, or failing renewals', async () => {
    await using world = await World.open(place)
    const [own, managed] = [await world.reserve('own.example.org'), await world.reserve('auto.example.org')]
    const [uploaded, managedOne] = [
      await upload(world, 'own.example.org', 10),
      await upload(world, 'auto', 10),
    ]
    await world.change(own.id, { certificate_id: uploaded })
    const status = { renews_at: new Date(START - 60 * DAY).toISOString(), provisioning_job: null }
    await world.rewrite(managed.id, { certificate: managedOne, certificate_management_status: status })
    await using watch = await watchAt(world, 0)
    await looked(world)
    const facts = new Map(watch.lines.map(({ fields }) => [fields['certificate'], fields]))
    assert.deepEqual(facts.get(uploaded)?.['names'], ['own.example.org'])
    assert.match(String(facts.get(uploaded)?.['todo']), /^upload a new one/)
    assert.deepEqual(facts.get(managedOne)?.['names'], ['auto.example.org'])
    assert.match(
      String(facts.get(managedOne)?.['todo']),
      /^its renewal keeps failing: see certificate_management_status/,
    )
  })

  test('are not reported while they are renewed automatically in time, nor once they are replaced', async () => {
    await using world = await World.open(place)
    const domain = await world.reserve('auto.example.org')
    const inTime = await upload(world, 'auto.example.org', 10)
    const status = { renews_at: new Date(START + 5 * DAY).toISOString(), provisioning_job: null }
    await world.rewrite(domain.id, { certificate: inTime, certificate_management_status: status })
    const replaced = await issued(world, 'auto.example.org', 1)
    {
      await using servers = new AsyncDisposableStack()
      servers.use(await watchAt(world, 0))
      await looked(world)
      assert.deepEqual(await toldOf(world, inTime), [])
      assert.deepEqual(await toldOf(world, replaced), [])
    }
    // The expiry is reported whatever was planned.
    await using servers = new AsyncDisposableStack()
    servers.use(await watchAt(world, 10))
    await looked(world)
    assert.deepEqual(await toldOf(world, inTime), [EXPIRED])
    assert.deepEqual(await toldOf(world, replaced), [])
  })

  test('are not reported when the next certificate is issued at that very moment', async () => {
    await using world = await World.open(place)
    const domain = await world.reserve('auto.example.org')
    const [old, next] = [
      await issued(world, 'auto.example.org', 10),
      await issued(world, 'auto.example.org', 80),
    ]
    const status = { renews_at: new Date(START - 60 * DAY).toISOString(), provisioning_job: null }
    await world.rewrite(domain.id, { certificate: old, certificate_management_status: status })
    let isReplaced = false
    const store = withCommit(world.store, async (batch, write) => {
      const isTold = batch.some(each => each.op === 'event' && each.event.type === EXPIRING)
      if (isTold && !isReplaced) await world.rewrite(domain.id, { certificate: next })
      isReplaced ||= isTold
      return write()
    })
    await using servers = new AsyncDisposableStack()
    servers.use(await watchAt(world, 0, store))
    await looked(world)
    assert.ok(isReplaced)
    assert.deepEqual(await toldOf(world, old), [])
  })

  test('are reported when they are due while the server runs, however short their lifetime', async () => {
    await using world = await World.open(place)
    const now = Math.ceil(Date.now() / 1000) * 1000
    const { pem, keyPem } = await issueCertificate({ name: 'brief', from: now - 1000, to: now + 2000 })
    const { log } = recordingLog()
    const side = openExpiry({ api: world.deps(world.store), source: world.source(), log })
    await side.start('http://api.test')
    const given = { certificate_pem: pem, private_key_pem: keyPem }
    const id = String((await create(tlsCertificate, given, null, world.call))['id'])
    const types = await world.until(async () => {
      const found = await toldOf(world, id)
      return found.includes(EXPIRED) ? found : undefined
    })
    await side.close()
    assert.ok(types.length > 1 && types.slice(0, -1).every(type => type === EXPIRING), types.join())
  })

  test('are reported by the whole server, in the audit log and to subscriptions', async () => {
    await using server = await startServer()
    const { api } = server
    const sources = [{ type: EXPIRING }, { type: EXPIRED }]
    const { pem, keyPem } = await pems('over.example', -1)
    await createResource(api, '/event_subscriptions', { sources })
    const { id } = await createResource(api, '/tls_certificates', {
      certificate_pem: pem,
      private_key_pem: keyPem,
    })
    const path = `/audit_events?type=${EXPIRED}&object_id=${id}`
    const found = await until(async () => (await api.get(path)).body.audit_events, {
      fits: events => events.length > 0,
    })
    assert.equal(found.length, 1)
    assert.deepEqual(found[0].object, (await api.get(`/tls_certificates/${id}`)).body)
  })

  test('are reported once where several servers share a database', async () => {
    const postgres = await startPostgres()
    try {
      const url = await postgres.newDatabase()
      await using world = await World.open(place, { database_url: url })
      await using other = await openStore({ databaseUrl: url, dataDir: world.settings.data_dir })
      const ids = await Promise.all(
        Array.from({ length: 20 }, (_, at) => upload(world, `n${at}.example`, at - 10)),
      )
      await using servers = new AsyncDisposableStack()
      servers.use(await watchAt(world, 0))
      servers.use(await watchAt(world, 0, other))
      await looked(world)
      await world.until(async () => (await published(world)).length > ids.length)
      const all = (await published(world)).map(({ object }) => object['id'])
      assert.equal(new Set(all).size, all.length)
      for (const id of ids) assert.ok(all.includes(id))
    } finally {
      await postgres.stop()
    }
  })
})
