import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { newFolder } from '../support/server.ts'
import { answering, withCommit } from './answerer.ts'
import { Pebble } from './pebble.ts'
import { World, assertNothingLeft, point } from './world.ts'

/** More writes than an order needs, its account included. */
const MOST_WRITES = 12

suite('an order goes on after its process is gone', () => {
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
        await point(pebble, domain)
        const died = await dying(world, pebble, { last, moment })
        await world.issue({}, answering(world.store, pebble))
        await world.issued(domain.id)
        assert.equal((await world.rows('tls_certificate')).length, 1)
        await assertNothingLeft(world)
        if (!died) return
      }
      assert.fail('it never came to its end')
    })
  }

  test('by SIGKILL, with many orders under way', async () => {
    const folder = newFolder()
    await using world = await World.open(pebble, {}, folder)
    const domains = []
    for (let index = 0; index < 12; index++) domains.push(await world.reserve(`killed${index}.example.com`))
    await Promise.all(domains.map(domain => point(pebble, domain)))
    const { directory, rootFile, dns } = pebble
    const place = JSON.stringify({ directory, rootFile, dns })
    const victim = spawn(process.execPath, [join(import.meta.dirname, 'victim.ts'), folder, place], {
      stdio: 'inherit',
    })
    await world.until(async () => (await world.rows('acme_challenge')).length >= 3)
    victim.kill('SIGKILL')
    await once(victim, 'exit')
    await world.issue({}, answering(world.store, pebble))
    for (const { id } of domains) await world.issued(id)
    assert.equal((await world.rows('tls_certificate')).length, domains.length)
    await world.until(async () => (await world.rows('acme_order')).length === 0)
    await assertNothingLeft(world)
  })
})

/** Lets an issuer work whose process ends right before or after one of its writes; false: it was done by then. */
async function dying(
  world: World,
  pebble: Pebble,
  { last, moment }: { readonly last: number; readonly moment: 'before' | 'after' },
): Promise<boolean> {
  let writes = 0
  const { promise: death, resolve: die } = Promise.withResolvers<true>()
  const mortal = withCommit(answering(world.store, pebble), async (_, write) => {
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
