import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { respondToChallenge, respondToChallenges, withCommit, type Challenge } from './challenge-responder.ts'
import { Pebble } from './pebble.ts'
import { World, assertNothingLeft, setDnsRecords } from './world.ts'
import { Folder } from '../support/folder.ts'

/** More writes than an order needs, its account included. */
const MOST_WRITES = 12

suite('an order continues after its process has ended', { concurrency: 2 }, () => {
  let pebble: Pebble
  before(async () => {
    pebble = await Pebble.start({ nonceReject: 30 })
  })
  after(() => pebble[Symbol.asyncDispose]())

  for (const moment of ['before', 'after'] as const) {
    test(`right ${moment} each of its writes`, async () => {
      for (let last = 1; last <= MOST_WRITES; last++) {
        await using world = await World.open(pebble)
        const domain = await world.reserve(`${moment}${last}.example.com`)
        await setDnsRecords(pebble, domain)
        const died = await dying(world, pebble, { last, moment })
        await world.issue({}, respondToChallenges(world.store, pebble))
        await world.issued(domain.id)
        assert.equal((await world.rows('tls_certificate')).length, 1)
        await assertNothingLeft(world)
        if (!died) return
      }
      assert.fail('it never came to its end')
    })
  }

  test('by SIGKILL, with many orders under way', async () => {
    using folder = new Folder()
    const names = Array.from({ length: 12 }, (_, index) => `killed${index}.example.com`)
    await reserveAll(pebble, names, folder.path)
    const { directory, rootFile, dns } = pebble
    const place = JSON.stringify({ directory, rootFile, dns })
    const victim = spawn(process.execPath, [join(import.meta.dirname, 'victim.ts'), folder.path, place], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(victim.stdout, 'data')
    victim.kill('SIGKILL')
    await once(victim, 'exit')
    await using world = await World.open(pebble, {}, folder.path)
    const published = await world.rows('acme_challenge')
    assert.ok(published.length > 2)
    for (const { body } of published) await respondToChallenge(pebble, JSON.parse(body) as Challenge)
    await world.issue({}, respondToChallenges(world.store, pebble))
    for (const { id } of await world.rows('reserved_domain')) await world.issued(id)
    assert.equal((await world.rows('tls_certificate')).length, names.length)
    await assertNothingLeft(world)
  })
})

async function reserveAll(pebble: Pebble, names: readonly string[], folder: string): Promise<void> {
  await using world = await World.open(pebble, {}, folder)
  for (const name of names) await setDnsRecords(pebble, await world.reserve(name))
}

/** Lets an issuer work whose process ends right before or after one of its writes; false: it was done by then. */
async function dying(
  world: World,
  pebble: Pebble,
  { last, moment }: { readonly last: number; readonly moment: 'before' | 'after' },
): Promise<boolean> {
  let writes = 0
  const { promise: death, resolve: die } = Promise.withResolvers<true>()
  const mortal = withCommit(respondToChallenges(world.store, pebble), async (_, write) => {
    writes++
    if (writes < last) return write()
    if (writes === last && moment === 'after') await write()
    die(true)
    throw new Error('the process is gone')
  })
  await world.issue({}, mortal)
  const [domain] = await world.rows('reserved_domain')
  return Promise.race([death, world.issued(domain?.id ?? '').then(() => false)])
}
