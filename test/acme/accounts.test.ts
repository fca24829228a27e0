import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import { rotationFile } from '#domains/acme/rotation.ts'
import { respondToChallenges, withCommit } from './challenge-responder.ts'
import { Pebble } from './pebble.ts'
import { World, assertNothingLeft, setDnsRecords } from './world.ts'
import { Folder } from '../support/folder.ts'

/** What the authority shows of an account, or does with it. */
async function askAuthority(world: World, payload?: object): Promise<Record<string, unknown>> {
  const { egress } = world
  const { key, url } = await world.account()
  assert.ok(url)
  for (;;) {
    const { headers } = await egress.request(new URL('/nonce-plz', url).href, { method: 'HEAD' })
    const body = key.sign({ url, nonce: headers['replay-nonce'], account: url }, payload)
    const type = { 'content-type': 'application/jose+json' }
    const answer = await egress.request(url, { method: 'POST', headers: type, body })
    const text = answer.body.toString()
    // It refuses some nonces for the exercise.
    if (text.includes('badNonce')) continue
    assert.equal(answer.status, 200, text)
    return JSON.parse(text) as Record<string, unknown>
  }
}

async function issueFor(world: World, pebble: Pebble, name: string): Promise<void> {
  const domain = await world.reserve(name)
  await setDnsRecords(pebble, domain)
  await world.issued(domain.id)
}

suite('the account at an authority', () => {
  let pebble: Pebble
  before(async () => {
    pebble = await Pebble.start({ nonceReject: 10 })
  })
  after(() => pebble[Symbol.asyncDispose]())

  test('gets the contact at each start, if it has changed', async () => {
    using folder = new Folder()
    const contactAfter = async (settings: Record<string, string>, name: string) => {
      await using world = await World.open(pebble, settings, folder.path)
      await world.issue({}, respondToChallenges(world.store, pebble))
      await issueFor(world, pebble, name)
      const wanted = settings['acme_email'] === undefined ? [] : [`mailto:${settings['acme_email']}`]
      const [row] = await world.until(async () => {
        const rows = await world.rows('acme_account')
        return rows[0]?.body.includes(`"contact":${JSON.stringify(wanted)}`) && rows
      })
      assert.ok(row)
      return { account: (await world.account()).url, contact: (await askAuthority(world))['contact'] }
    }
    const first = await contactAfter({ acme_email: 'one@example.com' }, 'mail1.example.com')
    assert.deepEqual(first.contact, ['mailto:one@example.com'])
    const { account } = first
    const second = await contactAfter({ acme_email: 'two@example.com' }, 'mail2.example.com')
    assert.deepEqual(second, { account, contact: ['mailto:two@example.com'] })
    assert.deepEqual(await contactAfter({}, 'mail3.example.com'), { account, contact: undefined })
  })

  test('gets a new key on request, while orders are running', async () => {
    await using world = await World.open(pebble)
    await world.issue({}, respondToChallenges(world.store, pebble))
    await issueFor(world, pebble, 'rotated.example.com')
    const { key: old, url } = await world.account()
    const domains = []
    for (let index = 0; index < 8; index++) domains.push(await world.reserve(`during${index}.example.com`))
    for (const domain of domains) await setDnsRecords(pebble, domain)
    writeFileSync(rotationFile(world.settings.data_dir), '')
    await world.until(async () => !existsSync(rotationFile(world.settings.data_dir)))
    for (const { id } of domains) await world.issued(id)
    const changed = await world.account()
    assert.equal(changed.url, url)
    assert.ok(!changed.isChanging)
    assert.notEqual(changed.key.thumbprint, old.thumbprint)
    assert.equal((await world.client().findAccount(changed.key))?.account.url, url)
    assert.equal(await world.client().findAccount(old), undefined)
    await issueFor(world, pebble, 'afterwards.example.com')
    assert.ok(world.logged.some(line => line.includes('the ACME account has a new key')))
    await world.until(async () => (await world.rows('acme_order')).length === 0)
    await assertNothingLeft(world)
  })

  for (const last of [1, 2])
    for (const moment of ['before', 'after'] as const)
      test(`is neither lost nor doubled when a change of its key ends right ${moment} write ${last}`, async () => {
        await using world = await World.open(pebble)
        const side = await world.issue({}, respondToChallenges(world.store, pebble))
        const name = `${moment}${last}.change.example.com`
        await issueFor(world, pebble, `one.${name}`)
        await side.close()
        const { key: old, url } = await world.account()
        let writes = 0
        const mortal = withCommit(world.store, async (_, write) => {
          writes++
          if (writes < last || (writes === last && moment === 'after')) await write()
          if (writes >= last) throw new Error('the process is gone')
          return { ok: true, revision: 0 }
        })
        await assert.rejects(world.accounts(mortal).changeKey(), /the process is gone/)
        await world.issue({}, respondToChallenges(world.store, pebble))
        await world.until(async () => !(await world.account()).isChanging)
        const { key, url: kept } = await world.account()
        assert.equal(kept, url)
        // Before the first write nothing had begun.
        assert.equal(key.thumbprint === old.thumbprint, last === 1 && moment === 'before')
        assert.equal((await world.client().findAccount(key))?.account.url, url)
        await issueFor(world, pebble, `two.${name}`)
        await assertNothingLeft(world)
      })

  test('is used with the key that the authority knows, by a process that has not seen the change', async () => {
    await using world = await World.open(pebble)
    await world.issue({}, respondToChallenges(world.store, pebble))
    await issueFor(world, pebble, 'elsewhere.example.com')
    const { url } = await world.account()
    let writes = 0
    const mortal = withCommit(world.store, async (_, write) => {
      if (++writes === 2) throw new Error('the process is gone')
      return write()
    })
    await assert.rejects(world.accounts(mortal).changeKey(), /the process is gone/)
    await issueFor(world, pebble, 'unheard.example.com')
    assert.deepEqual([(await world.account()).url, (await world.account()).isChanging], [url, false])
  })

  test('is created again with a new key when it was deactivated', async () => {
    await using world = await World.open(pebble)
    await world.issue({}, respondToChallenges(world.store, pebble))
    await issueFor(world, pebble, 'active.example.com')
    const { key: old, url } = await world.account()
    await askAuthority(world, { status: 'deactivated' })
    await issueFor(world, pebble, 'inactive.example.com')
    const next = await world.account()
    assert.notEqual(next.url, url)
    assert.notEqual(next.key.thumbprint, old.thumbprint)
    const line = world.logged.find(each => each.includes('creating a new one with a new key'))
    assert.ok(line?.includes(String(url)), 'the log names the old one')
  })

  test('is created again when its key is no longer that of the account, as after an old backup', async () => {
    await using world = await World.open(pebble)
    await world.issue({}, respondToChallenges(world.store, pebble))
    await issueFor(world, pebble, 'kept.example.com')
    const [earlier] = await world.rows('acme_account')
    await world.accounts().changeKey()
    const [row] = await world.rows('acme_account')
    assert.ok(row && earlier)
    const claims = [{ namespace: 'acme_account', value: hash('sha256', pebble.directory, 'hex') }]
    const entry = { row: { ...row, version: row.version + 1, body: earlier.body }, refs: [], claims }
    assert.ok((await world.store.commit([{ op: 'update', entry }])).ok)
    const { url } = await world.account()
    await issueFor(world, pebble, 'restored.example.com')
    assert.notEqual((await world.account()).url, url)
  })
})
