import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { FakeAuthority, Answer } from './fake-authority.ts'
import { useFakes } from './fakes.ts'
import { type World, assertNothingLeft } from './world.ts'
import { Folder } from '../support/folder.ts'

const problem = (type: string, status: number, headers: Record<string, string> = {}): Answer => ({
  status,
  headers,
  body: { type: `urn:ietf:params:acme:error:${type}`, detail: 'no' },
})

suite('failures of the account at an authority', () => {
  let authority: FakeAuthority
  const open = useFakes(made => (authority = made))

  const count = (start: string): number => authority.paths.filter(path => path.startsWith(start)).length
  /** Those that were to take the place of another one. */
  const offeredKeys = (): Set<unknown> =>
    new Set(
      authority.messages
        .filter(({ path }) => path === '/key-change')
        .map(({ payload }) => Buffer.from(String(payload['protected']), 'base64url').toString())
        .map(head => (JSON.parse(head) as { jwk: { x: string } }).jwk.x),
    )
  const issueFor = async (world: World, name: string): Promise<void> => {
    await world.issued((await world.reserve(name)).id)
  }

  test('a contact that cannot be sent does not delay certificates, and is sent later, once', async () => {
    using folder = new Folder()
    const contacts = () =>
      authority.messages.filter(({ path }) => path.startsWith('/account/')).map(({ payload }) => payload)
    {
      await using world = await open({}, folder.path)
      await world.issue()
      await issueFor(world, 'first.example.com')
    }
    assert.deepEqual(contacts(), [])
    let refusals = 3
    authority.answers = ({ path }) =>
      path.startsWith('/account/') && refusals-- > 0 ? problem('invalidContact', 400) : undefined
    const contact = ['mailto:me@example.com']
    {
      await using world = await open({ acme_email: 'me@example.com' }, folder.path)
      await world.issue({ retryMs: 20 })
      await issueFor(world, 'second.example.com')
      await world.until(async () => world.logged.some(line => line.includes('ACME contact updated')))
      assert.equal(world.logged.filter(line => line.includes('updating the ACME contact failed')).length, 3)
    }
    assert.deepEqual(
      contacts(),
      Array.from({ length: 4 }, () => ({ contact })),
    )
    {
      await using world = await open({ acme_email: 'me@example.com' }, folder.path)
      await world.issue()
      await issueFor(world, 'third.example.com')
    }
    assert.equal(contacts().length, 4)
  })

  test('a refused key change leaves the account unchanged, and is retried at the next start', async () => {
    await using world = await open()
    const side = await world.issue()
    await issueFor(world, 'refused.example.com')
    const { key: old, url } = await world.account()
    authority.answers = ({ path }) => (path === '/key-change' ? problem('unauthorized', 403) : undefined)
    await assert.rejects(world.accounts().changeKey(), { type: 'unauthorized' })
    await issueFor(world, 'still.example.com')
    assert.equal((await world.account()).key.thumbprint, old.thumbprint)
    await side.close()
    authority.answers = () => undefined
    await world.issue()
    await world.until(async () => !(await world.account()).isChanging)
    const { key, url: kept } = await world.account()
    assert.deepEqual([[...offeredKeys()], kept], [[key.jwk.x], url])
    await issueFor(world, 'next.example.com')
    assert.equal(count('/new-account'), 2, 'one was made, and one looked for')
  })

  test('a key change without a response is repeated with the same key', async () => {
    await using world = await open()
    const side = await world.issue()
    await issueFor(world, 'silent.example.com')
    await side.close()
    const { key: old, url } = await world.account()
    authority.answers = ({ path }) => (path === '/key-change' ? { status: 504 } : undefined)
    const accounts = world.accounts()
    await assert.rejects(accounts.changeKey(), { type: 'serverBusy' })
    await assert.rejects(accounts.changeKey(), { type: 'serverBusy' })
    // Certificates do not wait for it.
    await world.issue({ retryMs: 60_000 })
    await issueFor(world, 'meanwhile.example.com')
    assert.equal((await world.account()).key.thumbprint, old.thumbprint)
    authority.answers = () => undefined
    assert.equal(await accounts.changeKey(), url)
    const { key, isChanging } = await world.account()
    assert.deepEqual([...offeredKeys()], [key.jwk.x])
    assert.ok(!isChanging)
  })

  test('two processes that change the key at once change it once', async () => {
    await using world = await open()
    await world.issue()
    await issueFor(world, 'both.example.com')
    const { url } = await world.account()
    const asked = await Promise.all([world.accounts().changeKey(), world.accounts().changeKey()])
    assert.deepEqual(asked, [url, url])
    assert.ok(!(await world.account()).isChanging)
    await issueFor(world, 'then.example.com')
    assert.equal(offeredKeys().size, 1)
  })

  test('there is nothing to change before there is an account', async () => {
    await using world = await open()
    assert.equal(await world.accounts().changeKey(), undefined)
    assert.deepEqual(await world.rows('acme_account'), [])
  })

  test('an order of the account that is lost is not used by the next one', async () => {
    await using world = await open()
    const domain = await world.reserve('orphan.example.com')
    let first: number | undefined
    authority.answers = ({ path, account }) => {
      first ??= account !== undefined && account >= 0 ? account : undefined
      if (account !== first || first === undefined) return undefined
      if (path.startsWith('/finalize')) return { status: 503, headers: { 'retry-after': '0' } }
      return path.startsWith('/order') ? problem('accountDoesNotExist', 400) : undefined
    }
    await world.issue()
    await world.issued(domain.id)
    const owners = authority.messages.flatMap(({ path, account }) =>
      path === '/new-order' || path.startsWith('/order') ? [account] : [],
    )
    assert.deepEqual(owners, [first, first, (first ?? 0) + 1])
    await assertNothingLeft(world)
  })

  test('an authority that rejects accounts is not sent one after another', async () => {
    await using world = await open()
    authority.answers = ({ path }) =>
      path === '/new-order' ? problem('accountDoesNotExist', 400, { 'retry-after': '0' }) : undefined
    const domains = [await world.reserve('none1.example.com'), await world.reserve('none2.example.com')]
    await world.issue({ retryMs: 20 })
    for (const { id } of domains) await world.failure(id)
    await world.until(async () => count('/new-order') > 8)
    assert.equal(count('/new-account'), 2)
    assert.ok(world.logged.some(line => line.includes('has just replaced another one')))
  })
})
