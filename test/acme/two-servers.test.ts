import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { after, before, suite, test } from 'node:test'
import { openStore } from '#store/open.ts'
import { createResource } from '../support/each-store.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { spawnServer, type Process } from '../support/server.ts'
import { respondToChallenge, respondToChallenges, type Challenge } from './challenge-responder.ts'
import { Pebble, type PebbleOptions } from './pebble.ts'
import { ISSUING, SHARED_LEASE_MS, World, assertNothingLeft, setDnsRecords } from './world.ts'
import { freePorts } from '../support/free-ports.ts'
import { until } from '../support/until.ts'
import { Folder } from '../support/folder.ts'

const HOST = '127.0.0.1'
const COUNT = 20
const long = process.env['TEST_LONG'] === '1'
const policy = { authority: 'letsencrypt', private_key_type: 'ecdsa' }

/** The serial number of the certificate that a client of a server gets for a name. */
async function serial({ bound }: Process, servername: string): Promise<string | undefined> {
  const socket = connect({ host: HOST, port: bound.https?.port ?? 0, servername, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const certificate = socket.getPeerX509Certificate()
  await once(socket.end().resume(), 'close')
  return certificate?.subjectAltName === `DNS:${servername}` ? certificate.serialNumber : undefined
}

async function issuedBy({ api }: Process): Promise<number> {
  const metrics = await (await fetch(`${api.url}/metrics`)).text()
  return Number(/^adit_acme_orders_total\{result="issued"\} (\d+)$/m.exec(metrics)?.[1])
}

suite('two servers on one PostgreSQL', () => {
  let postgres: TestPostgres
  before(async () => {
    postgres = await startPostgres()
  })
  after(() => postgres.stop())

  /** Both under one master key; the authority comes to see the second one alone. */
  async function start(options: PebbleOptions = {}) {
    await using parts = new AsyncDisposableStack()
    const [httpPort = 0, tlsPort = 0] = await freePorts(2)
    const pebble = parts.use(await Pebble.start({ httpPort, tlsPort, ...options }))
    const shared = {
      ADIT_DATABASE_URL: await postgres.newDatabase(),
      ADIT_MASTER_KEY: randomBytes(32).toString('base64'),
      ADIT_DOMAIN: 'base.test',
      ADIT_ACME_DIRECTORY: pebble.directory,
      ADIT_ACME_CA_FILE: pebble.rootFile,
      ADIT_ACME_DNS: pebble.dns,
      ADIT_PUBLIC_ADDRESSES: HOST,
      ADIT_EGRESS_ALLOW: '127.0.0.0/8',
    }
    const serve = async (folder: string, own: Record<string, string>): Promise<Process> => {
      const server = await spawnServer(folder, { ...shared, ...own })
      parts.defer(async () => {
        if (server.child.exitCode === null && server.child.signalCode === null) await server.end('SIGKILL')
      })
      return server
    }
    const [folder, other] = [parts.use(new Folder()), parts.use(new Folder())]
    const one = await serve(folder.path, {})
    copyFileSync(folder.file('api-key'), other.file('api-key'))
    const visited = { ADIT_HTTP_ADDR: `${HOST}:${httpPort}`, ADIT_HTTPS_ADDR: `${HOST}:${tlsPort}` }
    const two = await serve(other.path, visited)
    const all = parts.move()
    return {
      pebble,
      one,
      two,
      database: shared.ADIT_DATABASE_URL,
      [Symbol.asyncDispose]: () => all.disposeAsync(),
    }
  }

  /** Reserves names by turns through both. */
  async function reserve({ one, two, pebble }: Awaited<ReturnType<typeof start>>, count: number) {
    const names = Array.from({ length: count }, (_, index) => `name${index}.example.com`)
    for (const name of names) await pebble.configure('add-a', { host: `${name}.`, addresses: [HOST] })
    return Promise.all(
      names.map((domain, index) =>
        createResource((index % 2 === 0 ? one : two).api, '/reserved_domains', {
          domain,
          certificate_management_policy: policy,
        }),
      ),
    )
  }

  const orders = ({ logged }: Pebble): number =>
    logged.filter(line => /POST \/order-plz .*calling handler/.test(line)).length

  test('order each name once, answer challenges for each other, and both serve the certificate', async () => {
    await using world = await start()
    const { pebble, one, two } = world
    const domains = await reserve(world, COUNT)
    for (const { id, domain } of domains) {
      const found = await until(
        async () => (await two.api.get(`/reserved_domains/${id}`)).body.certificate ?? undefined,
        ISSUING,
      )
      const { body } = await one.api.get(`/tls_certificates/${found.id}`)
      const wanted = body.serial_number.replaceAll(':', '').toLowerCase().replace(/^0+/, '')
      for (const server of [one, two])
        await until(
          async () => (await serial(server, domain))?.toLowerCase().replace(/^0+/, '') === wanted,
          ISSUING,
        )
    }
    assert.equal(orders(pebble), COUNT)
    const { body } = await one.api.get('/tls_certificates')
    assert.equal(body.tls_certificates.length, COUNT)
    await until(async () => (await issuedBy(one)) + (await issuedBy(two)) === COUNT, ISSUING)
    // Which of both takes an order is chance: more are made until the one without clients has taken one.
    for (let more = 0; more < COUNT && (await issuedBy(one)) === 0; more++) {
      const domain = `more${more}.example.com`
      await pebble.configure('add-a', { host: `${domain}.`, addresses: [HOST] })
      const wanted = { domain, certificate_management_policy: policy }
      const { id } = await createResource(one.api, '/reserved_domains', wanted)
      await until(
        async () => (await one.api.get(`/reserved_domains/${id}`)).body.certificate ?? undefined,
        ISSUING,
      )
    }
    assert.ok((await issuedBy(one)) > 0, 'the authority came to see the other one for its orders')
  })

  test('continue the orders of a killed server when its lease expires', async () => {
    await using parts = new AsyncDisposableStack()
    const pebble = parts.use(await Pebble.start())
    const [dead, alive] = [parts.use(new Folder()), parts.use(new Folder())]
    const settings = {
      database_url: await postgres.newDatabase(),
      master_key: randomBytes(32).toString('base64'),
    }
    const world = parts.use(await World.open(pebble, settings, alive.path))
    const domains = []
    for (let index = 0; index < COUNT; index++) domains.push(await world.reserve(`left${index}.example.com`))
    for (const domain of domains) await setDnsRecords(pebble, domain)
    const { directory, rootFile, dns } = pebble
    const place = JSON.stringify({ directory, rootFile, dns })
    const victim = spawn(
      process.execPath,
      [join(import.meta.dirname, 'victim.ts'), dead.path, place, JSON.stringify(settings)],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    parts.defer(() => void victim.kill('SIGKILL'))
    await once(victim.stdout, 'data')
    await world.until(async () => (await world.rows('acme_challenge')).length === COUNT)
    await world.issue({ leaseMs: SHARED_LEASE_MS }, respondToChallenges(world.store, pebble))
    const leases = async () =>
      (await world.rows('acme_order')).map(
        ({ body }) => JSON.parse(body).lease as { readonly owner: string; readonly until: string },
      )
    const [first, ...others] = await leases()
    const end = Math.max(...[first, ...others].map(lease => Date.parse(lease?.until ?? '')))
    // It lives, and holds them for longer than one lease.
    await world.until(
      async () => Date.now() > end && (await leases()).every(({ until: next }) => Date.parse(next) > end),
    )
    assert.deepEqual(new Set((await leases()).map(({ owner }) => owner)), new Set([first?.owner]))
    victim.kill('SIGKILL')
    await once(victim, 'exit')
    for (const { body } of await world.rows('acme_challenge'))
      await respondToChallenge(pebble, JSON.parse(body) as Challenge)
    for (const { id } of domains) await world.issued(id)
    await world.until(async () => (await world.rows('acme_order')).length === 0)
    assert.equal(orders(pebble), COUNT, 'each order went on where it was')
    assert.equal((await world.rows('tls_certificate')).length, COUNT)
    await assertNothingLeft(world)
  })

  test('do the same as whole servers', { skip: !long && 'takes a minute' }, async () => {
    await using world = await start({ sleepTime: 8 })
    const { pebble, one, two } = world
    const domains = await reserve(world, COUNT)
    await using store = await openStore({ databaseUrl: world.database, dataDir: '' })
    await until(async () => (await store.list('acme_challenge', { limit: 100 })).length === COUNT, ISSUING)
    await one.end('SIGKILL')
    for (const { id, domain } of domains) {
      await until(
        async () => (await two.api.get(`/reserved_domains/${id}`)).body.certificate ?? undefined,
        ISSUING,
      )
      await until(() => serial(two, domain), ISSUING)
    }
    assert.equal(orders(pebble), COUNT, 'each order went on where it was')
  })
})
