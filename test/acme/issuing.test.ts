import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import { respondToChallenges, type Challenge } from './challenge-responder.ts'
import { Pebble } from './pebble.ts'
import { World, assertNothingLeft, setDnsRecords } from './world.ts'

suite('with an authority that refuses three nonces of ten', () => {
  let pebble: Pebble
  before(async () => {
    pebble = await Pebble.start({ nonceReject: 30, blocklist: ['blocked.example'] })
  })
  after(() => pebble[Symbol.asyncDispose]())

  for (const keyType of ['rsa', 'ecdsa'] as const) {
    test(`a plain name gets a certificate with a key of type ${keyType} by http-01`, async () => {
      await using world = await World.open(pebble)
      const seen: Challenge[] = []
      const name = `${keyType}.example.com`
      const domain = await world.reserve(name, keyType)
      await setDnsRecords(pebble, domain)
      await world.issue({}, respondToChallenges(world.store, pebble, { seen }))
      const certificate = await world.issued(domain.id)
      assert.deepEqual([seen.length, seen[0]?.type, seen[0]?.name], [1, 'http-01', name])
      assert.equal(Object.keys(seen[0] ?? {}).join(), 'type,name,token,key_authorization,expires_at')
      assert.equal(certificate.private_key_type, keyType)
      assert.deepEqual(certificate.subject_alternative_names.dns_names, [name])
      assert.ok((await world.leaf(domain.id)).checkPrivateKey(createPrivateKey(certificate.private_key_pem)))
      await assertNothingLeft(world)
    })
  }

  test('what was issued shows as a resource and in the status of the domain', async () => {
    await using world = await World.open(pebble)
    const domain = await world.reserve('shown.example.com')
    await setDnsRecords(pebble, domain)
    await world.issue({}, respondToChallenges(world.store, pebble))
    const certificate = await world.issued(domain.id)
    const { certificate_management_status: status } = await world.domain(domain.id)
    assert.equal(status?.provisioning_job, null)
    const [from, to] = [Date.parse(certificate.not_before), Date.parse(certificate.not_after)]
    const renewal = (Date.parse(status?.renews_at ?? '') - from) / (to - from)
    assert.ok(renewal <= 2 / 3 && renewal > 0.64, `it renews at ${renewal} of its life`)
    assert.ok(Math.abs(Date.parse(certificate.issued_at ?? '') - Date.now()) < 60_000)
    const events = (await world.store.events(0, 100)).map(({ type }) => type)
    assert.ok(events.includes('tls_certificate_created.v0') && events.includes('domain_updated.v0'))
  })

  test('keys of accounts and orders are kept sealed', async () => {
    await using world = await World.open(pebble)
    const domain = await world.reserve('sealed.example.com')
    await setDnsRecords(pebble, domain)
    const bodies: string[] = []
    const watched = respondToChallenges(world.store, pebble, {
      onRow: row => row.kind.startsWith('acme_') && bodies.push(row.body),
    })
    await world.issue({}, watched)
    await world.issued(domain.id)
    assert.ok(bodies.some(body => body.includes('"key":"')))
    for (const body of bodies) assert.doesNotMatch(body, /PRIVATE KEY|"d":/)
  })

  test('a wildcard gets its certificate by dns-01 at the target of its CNAME', async () => {
    await using world = await World.open(pebble)
    const seen: Challenge[] = []
    const domain = await world.reserve('*.wild.example.com')
    await setDnsRecords(pebble, domain)
    await world.issue({}, respondToChallenges(world.store, pebble, { seen }))
    const certificate = await world.issued(domain.id)
    assert.deepEqual(certificate.subject_alternative_names.dns_names, ['*.wild.example.com'])
    const [challenge] = seen
    assert.deepEqual(
      [seen.length, challenge?.type, challenge?.name, challenge?.target],
      [1, 'dns-01', 'wild.example.com', domain.acme_challenge_cname_target],
    )
    await assertNothingLeft(world)
  })

  test('tls-alpn-01 is used when http-01 fails', async () => {
    await using world = await World.open(pebble)
    const seen: Challenge[] = []
    const domain = await world.reserve('second.example.com')
    await setDnsRecords(pebble, domain)
    await world.issue({}, respondToChallenges(world.store, pebble, { seen, refuse: ['http-01'] }))
    await world.issued(domain.id)
    assert.deepEqual(
      seen.map(({ type }) => type),
      ['http-01', 'tls-alpn-01'],
    )
    await assertNothingLeft(world)
  })

  test('tls-alpn-01 is used at once when the HTTP listener is off', async () => {
    await using world = await World.open(pebble, { http_addr: 'off' })
    const seen: Challenge[] = []
    const domain = await world.reserve('nohttp.example.com')
    await setDnsRecords(pebble, domain)
    await world.issue({}, respondToChallenges(world.store, pebble, { seen }))
    await world.issued(domain.id)
    assert.deepEqual(
      seen.map(({ type }) => type),
      ['tls-alpn-01'],
    )
  })

  test('a name that cannot be validated is reported as a temporary failure, and retried', async () => {
    await using world = await World.open(pebble)
    const refuse = ['http-01', 'tls-alpn-01']
    const domain = await world.reserve('refused.example.com')
    await setDnsRecords(pebble, domain)
    await world.issue({}, respondToChallenges(world.store, pebble, { refuse }))
    const job = await world.failure(domain.id)
    assert.equal(job.error_code, 'INTERNAL_ERROR')
    assert.match(job.msg, /^The CA rejects the request \(\w+\): ./)
    assert.ok(Date.parse(job.retries_at ?? '') >= Date.parse(job.started_at))
    assert.deepEqual(await world.rows('acme_challenge'), [])
    refuse.length = 0
    await world.issued(domain.id)
    await assertNothingLeft(world)
  })

  test('a name that the authority never signs is retried only after hours', async () => {
    await using world = await World.open(pebble)
    const domain = await world.reserve('blocked.example')
    await setDnsRecords(pebble, domain)
    await world.issue({}, respondToChallenges(world.store, pebble))
    const job = await world.failure(domain.id)
    assert.equal(job.error_code, 'INTERNAL_ERROR')
    assert.match(job.msg, /rejectedIdentifier/)
    assert.ok(Date.parse(job.retries_at ?? '') - Date.now() > 5 * 3_600_000)
  })

  test('deleting a domain ends its order', async () => {
    await using world = await World.open(pebble)
    const domain = await world.reserve('gone.example.com')
    await setDnsRecords(pebble, domain)
    await world.issue(
      { retryMs: 60_000 },
      respondToChallenges(world.store, pebble, { refuse: ['http-01', 'tls-alpn-01'] }),
    )
    await world.failure(domain.id)
    assert.equal((await world.rows('acme_order')).length, 1)
    await world.remove(domain.id)
    await world.until(async () => (await world.rows('acme_order')).length === 0)
    await assertNothingLeft(world)
  })

  test('deleting the policy during an order ends it, and no certificate is issued', async () => {
    await using world = await World.open(pebble)
    const domain = await world.reserve('nopolicy.example.com')
    await setDnsRecords(pebble, domain)
    const policy = { certificate_management_policy: null, certificate_management_status: null }
    let asked = 0
    const store = respondToChallenges(world.store, pebble, {
      async onRow({ kind }) {
        if (kind === 'acme_challenge' && ++asked === 1) await world.rewrite(domain.id, policy)
      },
    })
    await world.issue({ settleMs: 300 }, store)
    await world.until(async () => asked === 1 && (await world.rows('acme_order')).length === 0)
    assert.deepEqual(await world.rows('tls_certificate'), [])
    await assertNothingLeft(world)
  })

  test('the issued certificate is deleted with its domain', async () => {
    await using world = await World.open(pebble)
    const domain = await world.reserve('whole.example.com')
    await setDnsRecords(pebble, domain)
    await world.issue({}, respondToChallenges(world.store, pebble))
    await world.issued(domain.id)
    await world.remove(domain.id)
    await world.until(async () => (await world.rows('tls_certificate')).length === 0)
  })
})

suite('with other authorities', () => {
  test('a recently validated name needs no new challenge; the new certificate replaces the old', async () => {
    await using pebble = await Pebble.start({ authzReuse: 100 })
    await using world = await World.open(pebble)
    const seen: Challenge[] = []
    const domain = await world.reserve('reuse.example.com', 'ecdsa')
    await setDnsRecords(pebble, domain)
    await world.issue({}, respondToChallenges(world.store, pebble, { seen }))
    const first = await world.issued(domain.id)
    const policy = { authority: 'letsencrypt', private_key_type: 'rsa' }
    await world.change(domain.id, { certificate_management_policy: policy })
    const second = await world.until(async () => {
      const found = await world.certificate(domain.id)
      return found?.private_key_type === 'rsa' && found
    })
    assert.notEqual(second.serial_number, first.serial_number)
    assert.equal(seen.length, 1)
    await world.until(async () => (await world.rows('tls_certificate')).length === 1)
    await assertNothingLeft(world)
  })

  test('a long order is suspended and then completed', async () => {
    await using pebble = await Pebble.start({ sleepTime: 2 })
    await using world = await World.open(pebble)
    const domain = await world.reserve('slow.example.com')
    await setDnsRecords(pebble, domain)
    await world.issue({ patienceMs: 50, pollMs: 100 }, respondToChallenges(world.store, pebble))
    await world.issued(domain.id)
    await assertNothingLeft(world)
  })
})
