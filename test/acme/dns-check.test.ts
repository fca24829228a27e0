import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { after, before, suite, test } from 'node:test'
import { respondToChallenges } from './challenge-responder.ts'
import { Pebble } from './pebble.ts'
import { World, assertNothingLeft, setDnsRecords } from './world.ts'

suite('a domain must point here before anything is ordered', () => {
  let pebble: Pebble
  before(async () => {
    pebble = await Pebble.start()
  })
  after(() => pebble[Symbol.asyncDispose]())

  test('without its record the status has the one to set; once it is set the certificate is issued', async () => {
    await using world = await World.open(pebble)
    const domain = await world.reserve('unset.example.com')
    await world.issue({}, respondToChallenges(world.store, pebble))
    const job = await world.failure(domain.id)
    assert.equal(job.error_code, 'DNS_ERROR')
    assert.ok(job.msg.includes(`"unset.example.com CNAME ${domain.cname_target}"`), job.msg)
    assert.ok(Date.parse(job.retries_at ?? '') >= Date.parse(job.started_at))
    assert.deepEqual(await world.rows('acme_account'), [], 'no authority was asked')
    await setDnsRecords(pebble, domain)
    await world.issued(domain.id)
    assert.equal(await world.job(domain.id), null)
    await assertNothingLeft(world)
  })

  test('a wildcard needs the record of its challenges', async () => {
    await using world = await World.open(pebble)
    const domain = await world.reserve('*.unset.example.com')
    await world.issue({}, respondToChallenges(world.store, pebble))
    const job = await world.failure(domain.id)
    assert.equal(job.error_code, 'DNS_ERROR')
    const record = `"_acme-challenge.unset.example.com CNAME ${domain.acme_challenge_cname_target}"`
    assert.ok(job.msg.includes(record), job.msg)
    await setDnsRecords(pebble, domain)
    await world.issued(domain.id)
  })

  test('the apex of a zone points here by the addresses of its target', async () => {
    await using world = await World.open(pebble)
    const domain = await world.reserve('apex.example')
    const addresses = ['127.0.0.1']
    await pebble.configure('add-a', { host: domain.cname_target, addresses })
    await pebble.configure('add-a', { host: 'apex.example', addresses })
    await world.issue({}, respondToChallenges(world.store, pebble))
    await world.issued(domain.id)
  })

  test('one that points elsewhere is reported with where it points', async () => {
    await using world = await World.open(pebble)
    const domain = await world.reserve('elsewhere.example')
    await pebble.configure('add-a', { host: domain.cname_target, addresses: ['127.0.0.1'] })
    await pebble.configure('add-a', { host: 'elsewhere.example', addresses: ['127.0.0.1', '192.0.2.9'] })
    await world.issue({}, respondToChallenges(world.store, pebble))
    const job = await world.failure(domain.id)
    assert.equal(job.error_code, 'DNS_ERROR')
    assert.match(job.msg, /points to .*192\.0\.2\.9/)
  })

  test('an endless CNAME chain is rejected', async () => {
    await using world = await World.open(pebble)
    const domain = await world.reserve('circle.example.com')
    await pebble.configure('set-cname', { host: 'circle.example.com', target: 'square.example.com' })
    await pebble.configure('set-cname', { host: 'square.example.com', target: 'circle.example.com' })
    await world.issue({}, respondToChallenges(world.store, pebble))
    const job = await world.failure(domain.id)
    assert.notEqual(job.error_code, null)
  })

  test('name servers that do not respond are a temporary failure', async () => {
    const silent = createSocket('udp4').bind(0, '127.0.0.1')
    await once(silent, 'listening')
    const { directory, rootFile } = pebble
    const dns = `127.0.0.1:${silent.address().port}`
    silent.on('message', (query, { port, address }) => {
      // "Server failure".
      query.writeUInt16BE(0x8182, 2)
      silent.send(query, port, address)
    })
    await using world = await World.open({ directory, rootFile, dns })
    const domain = await world.reserve('silent.example.com')
    await world.issue()
    const job = await world.failure(domain.id)
    assert.equal(job.error_code, 'INTERNAL_ERROR')
    assert.match(job.msg, /^DNS has no information about silent\.example\.com/)
    assert.notEqual(job.retries_at, null)
    silent.close()
  })

  test('one that stops pointing here keeps its certificate, and the status reports it', async () => {
    await using world = await World.open(pebble)
    const domain = await world.reserve('moved.example.com')
    await setDnsRecords(pebble, domain)
    await world.issue({ checkMs: 50 }, respondToChallenges(world.store, pebble))
    const { serial_number: serial } = await world.issued(domain.id)
    await pebble.configure('clear-cname', { host: 'moved.example.com' })
    const job = await world.failure(domain.id)
    assert.equal(job.error_code, 'DNS_ERROR')
    assert.equal((await world.certificate(domain.id))?.serial_number, serial)
    await setDnsRecords(pebble, domain)
    await world.until(async () => (await world.job(domain.id)) === null)
  })
})
