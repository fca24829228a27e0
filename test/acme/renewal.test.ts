import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { FakeAuthority, Answer, Message } from './fake-authority.ts'
import { useFakes } from './fakes.ts'
import { type World, assertNothingLeft } from './world.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

suite('renewals', () => {
  let authority: FakeAuthority
  const open = useFakes(made => (authority = made))

  const orders = (): Message[] => authority.messages.filter(({ path }) => path === '/new-order')
  const renewsAt = async (world: World, id: string): Promise<number> =>
    Date.parse((await world.domain(id)).certificate_management_status?.renews_at ?? '')
  const inLine = (answers: Record<string, (Answer | undefined)[]>) => {
    authority.answers = ({ path }) => answers[path]?.shift()
  }

  test('happen when they are due, name what they replace, and delete the old certificate after that', async () => {
    await using world = await open()
    const domain = await world.reserve('due.example.com')
    await world.issue()
    const first = await world.issued(domain.id)
    const leaf = await world.leaf(domain.id)
    const status = { renews_at: new Date().toISOString(), provisioning_job: null }
    await world.rewrite(domain.id, { certificate_management_status: status })
    await world.until(async () => {
      const found = await world.certificate(domain.id)
      // At every moment it has one.
      assert.ok(found)
      return found.serial_number !== first.serial_number
    })
    const [, second] = orders()
    const [key = '', serial = ''] = String(second?.payload['replaces']).split('.')
    assert.equal(Buffer.from(serial, 'base64url').toString('hex').toUpperCase(), leaf.serialNumber)
    assert.equal(Buffer.from(key, 'base64url').length, 20)
    await world.until(async () => (await world.rows('tls_certificate')).length === 1)
    await assertNothingLeft(world)
  })

  test('are ordered without "replaces" when the authority rejects it', async () => {
    await using world = await open()
    const domain = await world.reserve('hint.example.com')
    await world.issue()
    const first = await world.issued(domain.id)
    const problem = { type: 'urn:ietf:params:acme:error:alreadyReplaced', detail: 'no' }
    authority.answers = ({ path, payload }) =>
      path === '/new-order' && payload['replaces'] !== undefined ? { status: 409, body: problem } : undefined
    const status = { renews_at: new Date().toISOString(), provisioning_job: null }
    await world.rewrite(domain.id, { certificate_management_status: status })
    await world.until(async () => (await world.certificate(domain.id))?.serial_number !== first.serial_number)
  })

  test('happen when the authority suggests them', async () => {
    await using world = await open()
    const domain = await world.reserve('early.example.com')
    authority.window = { start: Date.now() - 2 * HOUR, end: Date.now() - HOUR }
    await world.issue({ checkMs: 100 })
    const first = await world.issued(domain.id)
    await world.until(async () => (await world.certificate(domain.id))?.serial_number !== first.serial_number)
    assert.equal(orders().length, 2)
  })

  test('are planned within the window that the authority suggests', async () => {
    await using world = await open()
    const domain = await world.reserve('window.example.com')
    const window = { start: Date.now() + 20 * DAY, end: Date.now() + 21 * DAY }
    authority.window = window
    await world.issue({ checkMs: 100 })
    await world.until(async () => {
      const at = await renewsAt(world, domain.id)
      return at >= window.start - 1000 && at <= window.end
    })
    assert.equal(orders().length, 1)
  })

  test('stay as planned when the window makes no sense', async () => {
    await using world = await open()
    const domain = await world.reserve('nonsense.example.com')
    authority.window = { start: Date.now() + 100 * DAY, end: Date.now() + 200 * DAY }
    await world.issue({ checkMs: 100 })
    await world.issued(domain.id)
    const planned = await renewsAt(world, domain.id)
    await world.until(async () => authority.paths.some(path => path.startsWith('/renewal/')))
    assert.equal(await renewsAt(world, domain.id), planned)
  })

  test('follow the lifetime of a certificate, and do not repeat at once when a clock is wrong', async () => {
    await using world = await open()
    const [short, old] = [await world.reserve('short.example.com'), await world.reserve('old.example.com')]
    authority.answers = ({ path, payload }) => {
      const isOld = JSON.stringify(payload['identifiers'] ?? '').includes('old')
      if (path === '/new-order')
        authority.validity = isOld ? { from: -85 * DAY, to: 5 * DAY } : { from: 0, to: 6 * DAY }
      return undefined
    }
    await world.issue({ parallel: 1 })
    await world.issued(short.id)
    await world.issued(old.id)
    const wait = ((await renewsAt(world, short.id)) - Date.now()) / DAY
    assert.ok(wait > 3.8 && wait <= 4, `${wait} days`)
    assert.ok((await renewsAt(world, old.id)) - Date.now() > 0.9 * DAY)
  })

  for (const [form, value] of [
    ['seconds', () => '7200'],
    ['a date', () => new Date(Date.now() + 2 * HOUR).toUTCString()],
  ] as const) {
    test(`wait for as long as a rate limit requires, in ${form}`, async () => {
      await using world = await open()
      const domain = await world.reserve('limited.example.com')
      const problem = { type: 'urn:ietf:params:acme:error:rateLimited', detail: 'too many\nnew orders' }
      const headers = { 'retry-after': value() }
      inLine({ '/new-order': [{ status: 429, headers, body: problem }] })
      await world.issue()
      const job = await world.failure(domain.id)
      assert.equal(job.error_code, 'INTERNAL_ERROR')
      assert.equal(job.msg, 'The CA requires a delay (rateLimited): too many new orders')
      const wait = Date.parse(job.retries_at ?? '') - Date.now()
      assert.ok(Math.abs(wait - 2 * HOUR) < 30_000, `${wait}`)
    })
  }

  test('continue when the authority has lost the account', async () => {
    await using world = await open()
    const domain = await world.reserve('account.example.com')
    const problem = { type: 'urn:ietf:params:acme:error:accountDoesNotExist', detail: 'who?' }
    inLine({ '/new-order': [{ status: 400, body: problem }] })
    await world.issue()
    await world.issued(domain.id)
    assert.equal(authority.paths.filter(path => path === '/new-account').length, 2)
    assert.equal((await world.rows('acme_account')).length, 1)
  })

  test('continue with a new order when the authority has lost the old one', async () => {
    await using world = await open()
    const domain = await world.reserve('lost.example.com')
    const busy = { status: 503, headers: { 'retry-after': '0' }, body: 'busy' }
    const first = orders().length
    authority.answers = ({ path }) => {
      if (path.startsWith('/finalize') && orders().length === first + 1) return busy
      return path.startsWith('/order') && orders().length === first + 1
        ? { status: 404, body: {} }
        : undefined
    }
    await world.issue()
    await world.issued(domain.id)
    assert.equal(orders().length, first + 2)
    await assertNothingLeft(world)
  })
})
