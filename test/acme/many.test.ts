import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { respondToChallenges, type Challenge } from './challenge-responder.ts'
import { Pebble } from './pebble.ts'
import { World, assertNothingLeft, setDnsRecords, type Domain } from './world.ts'

const COUNT = process.env['TEST_LONG'] === '1' ? 500 : 80

suite('many at once', () => {
  test(`${COUNT} domains are all issued by two processes, each ordered once, 20 at a time`, async () => {
    await using pebble = await Pebble.start({ nonceReject: 10 })
    await using world = await World.open(pebble)
    const domains: Domain[] = []
    for (let index = 0; index < COUNT; index++) domains.push(await world.reserve(`many${index}.example.com`))
    for (const domain of domains) await setDnsRecords(pebble, domain)
    const seen: Challenge[] = []
    let most = 0
    const onRow = async ({ kind }: { kind: string }) => {
      if (kind === 'acme_challenge') most = Math.max(most, (await world.rows('acme_challenge')).length)
    }
    const store = respondToChallenges(world.store, pebble, { seen, onRow })
    await Promise.all([world.issue({ leaseMs: 30_000 }, store), world.issue({ leaseMs: 30_000 }, store)])
    for (const { id } of domains) await world.issued(id)
    await world.until(async () => (await world.rows('acme_order')).length === 0)
    assert.equal((await world.rows('tls_certificate')).length, COUNT)
    assert.equal(new Set(seen.map(({ name }) => name)).size, COUNT)
    assert.equal(seen.length, COUNT)
    assert.ok(most > 1 && most <= 40, `${most} at a time`)
    assert.equal((await world.rows('acme_account')).length, 1)
    await assertNothingLeft(world)
  })
})
