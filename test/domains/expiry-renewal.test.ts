import assert from 'node:assert/strict'
import { once } from 'node:events'
import { suite, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { connect } from 'node:tls'
import { createLog } from '#base/log.ts'
import { openAcme, openAuthority } from '#domains/acme.ts'
import { openExpiry } from '#domains/expiry/expiry-watch.ts'
import { startInProcess } from '#cluster/in-process.ts'
import { openParts } from '#server/gateway-parts.ts'
import { UserSessions } from '#server/user-sessions.ts'
import { TrafficBroker } from '#server/traffic-broker.ts'
import { FakeAuthority } from '../acme/fake-authority.ts'
import { FakeDns } from '../acme/fake-dns.ts'
import { ClosableProxy } from '../acme/closable-proxy.ts'
import { Pebble } from '../acme/pebble.ts'
import { ISSUING, World, setDnsRecords, quickTimings } from '../acme/world.ts'
import { freePorts } from '../support/free-ports.ts'
import { until } from '../support/until.ts'

const HOST = '127.0.0.1'
const DAY = 86_400_000
/** Seconds that a certificate lives. */
const VALIDITY = 10

/** Everything that a server starts for certificates, with a quick issuer, and an authority that can be shut off. */
async function start() {
  await using parts = new AsyncDisposableStack()
  const [httpPort = 0, tlsPort = 0] = await freePorts(2)
  const pebble = parts.use(await Pebble.start({ httpPort, tlsPort, validity: VALIDITY }))
  const directory = new URL(pebble.directory)
  const gate = parts.use(await ClosableProxy.inFrontOf(Number(directory.port)))
  directory.port = String(gate.port)
  const world = parts.use(
    await World.open(
      { directory: directory.href, rootFile: pebble.rootFile, dns: pebble.dns },
      {
        public_addresses: HOST,
        http_addr: `${HOST}:${httpPort}`,
        https_addr: `${HOST}:${tlsPort}`,
        agent_addr: `${HOST}:0`,
        ssh_addr: `${HOST}:0`,
      },
    ),
  )
  const { settings, store } = world
  const log = createLog('silent')
  const api = world.deps(store)
  const { sealer, now } = api
  const gateway = await openParts(store, sealer, {
    settings,
    version: 'test',
    userSessions: new UserSessions({ store, sealer, log, now }),
    traffic: new TrafficBroker({ publish: () => undefined, accountId: 'ac_1' }),
    usage: { add: () => undefined },
    uncaught: () => undefined,
    sharesPorts: () => false,
    log,
  })
  const side = await startInProcess(gateway)
  parts.defer(() => side.drain(0))
  const { source } = gateway
  const acme = openAcme({
    settings,
    client: openAuthority(settings),
    api,
    source,
    log,
    timings: quickTimings,
  })
  const expiry = openExpiry({ api, source, log })
  parts.defer(() => acme.close())
  parts.defer(() => expiry.close())
  await Promise.all([acme.start('http://api.test'), expiry.start('http://api.test')])
  const metrics = async () => (await side.metrics()) + acme.metrics()
  const all = parts.move()
  return { world, pebble, gate, tlsPort, metrics, [Symbol.asyncDispose]: () => all.disposeAsync() }
}

type Parts = Awaited<ReturnType<typeof start>>

async function served(port: number, servername: string) {
  const socket = connect({ host: HOST, port, servername, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const certificate = socket.getPeerX509Certificate()
  await once(socket.end().resume(), 'close')
  return certificate?.serialNumber
}

async function metric({ metrics }: Parts, name: string): Promise<number> {
  const [, value] = (await metrics())
    .split('\n')
    .flatMap(line => (line.startsWith(`${name} `) ? line.split(' ') : []))
  return Number(value)
}

const published = async ({ world }: Parts): Promise<{ type: string; id: string }[]> =>
  (await world.store.events(0, 1000))
    .filter(({ type }) => type.startsWith('tls_certificate_expir'))
    .map(({ type, body }) => ({ type, id: (JSON.parse(body) as { object: { id: string } }).object.id }))

const EXPIRED = 'tls_certificate_expired.v0'

/** Looks at everything until the certificate is over; at each moment the status must be true. */
async function watchItEnd(parts: Parts, { id, serial, end }: { id: string; serial: string; end: number }) {
  const { world, tlsPort } = parts
  const seen = { failures: 0, expiring: 0 }
  while (!(await published(parts)).some(({ type }) => type === EXPIRED)) {
    assert.equal(await served(tlsPort, 'shop.example.com'), serial, 'it is served to the end')
    const { certificate_management_status: status } = await world.domain(id)
    const job = status?.provisioning_job
    const renewsAt = Date.parse(status?.renews_at ?? '')
    assert.ok(renewsAt < end)
    if (Date.now() < renewsAt) assert.equal(job, null)
    if (job?.error_code) {
      assert.equal(job.error_code, 'INTERNAL_ERROR')
      assert.match(job.msg, /^The CA cannot be reached/)
      assert.ok(Date.parse(job.retries_at ?? '') >= Date.parse(job.started_at))
      assert.ok(Date.parse(job.started_at) >= renewsAt)
      seen.failures++
    }
    if ((await metric(parts, 'adit_certs_expiring')) === 1) seen.expiring++
    await pause(50)
  }
  return seen
}

suite('CRT-02: a renewal that fails', () => {
  test('until the end: the old certificate is served, everything is reported, and it recovers by itself', async () => {
    await using parts = await start()
    const { world, pebble, gate, tlsPort } = parts
    const { id } = await world.reserve('shop.example.com')
    await setDnsRecords(pebble, await world.domain(id))
    await world.issued(id)
    const leaf = await world.leaf(id)
    const first = (await world.domain(id)).certificate
    const [serial, end] = [leaf.serialNumber, leaf.validToDate.getTime()]
    await until(async () => (await served(tlsPort, 'shop.example.com')) === serial, ISSUING)
    assert.equal(await metric(parts, 'adit_certs_expiring'), 0)
    gate.close()

    const seen = await watchItEnd(parts, { id, serial, end })
    assert.ok(seen.failures > 0 && seen.expiring > 0, JSON.stringify(seen))
    assert.equal(await served(tlsPort, 'shop.example.com'), serial, 'better than none')
    assert.equal(await metric(parts, 'adit_certs_expired'), 1)
    assert.equal(await metric(parts, 'adit_certs_expiring'), 0)
    assert.ok((await metric(parts, 'adit_cert_expiry_timestamp_seconds')) <= Date.now() / 1000)
    assert.ok((await metric(parts, 'adit_acme_orders_total{result="failed"}')) > 0)
    const events = await published(parts)
    assert.ok(events.length >= 2 && events.every(event => event.id === first))
    assert.equal(
      events.findIndex(({ type }) => type === EXPIRED),
      events.length - 1,
    )

    gate.open()
    await world.until(async () => (await world.domain(id)).certificate !== first)
    await until(async () => (await served(tlsPort, 'shop.example.com')) !== serial, ISSUING)
    const status = (await world.domain(id)).certificate_management_status
    assert.equal(status?.provisioning_job, null)
    assert.ok(Date.parse(status?.renews_at ?? '') > end)
    assert.equal(await metric(parts, 'adit_certs_expired'), 0)
    assert.ok((await metric(parts, 'adit_acme_orders_total{result="issued"}')) >= 2)
    assert.deepEqual(await published(parts), events)
  })

  test('because the clock is 400 days ahead makes one order, which serves as soon as the clock is right', async () => {
    await using authority = await FakeAuthority.start()
    using dns = await FakeDns.start('127.0.0.99')
    const { directory, rootFile } = authority
    await using world = await World.open({ directory, rootFile, dns: dns.at })
    const { settings, store } = world
    let ahead = 400 * DAY
    const { id } = await world.reserve('clock.example.com')
    const acme = openAcme({
      settings,
      client: openAuthority(settings),
      api: { ...world.deps(store), now: () => Date.now() + ahead },
      source: world.source(),
      log: createLog('silent'),
      timings: quickTimings,
    })
    await acme.start('http://api.test')
    const job = await world.failure(id)
    assert.match(job.msg, /it expired on .* Is the clock of this server right/)
    const asked = (path: string): number => authority.paths.filter(each => each.startsWith(path)).length
    await world.until(async () => asked('/certificate/') > 3)
    assert.equal(asked('/new-order'), 1)
    assert.equal((await world.domain(id)).certificate, null)
    ahead = 0
    await world.issued(id)
    assert.equal(asked('/new-order'), 1)
    await acme.close()
  })
})
