import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { FakeAuthority, Answer } from './fake-authority.ts'
import { useFakes } from './fakes.ts'
import { assertNothingLeft } from './world.ts'

const HOUR = 3_600_000
const long = process.env['TEST_LONG'] === '1'
/** Ten minutes, as CRT-01 has it; or so long that an order is put aside and taken up again several times. */
const slow = long ? { takesMs: 600_000, askAgainS: 20 } : { takesMs: 3500, askAgainS: 1 }

const limited = (seconds: number): Answer => ({
  status: 429,
  headers: { 'retry-after': String(seconds) },
  body: { type: 'urn:ietf:params:acme:error:rateLimited', detail: 'too many' },
})

suite('a slow authority', () => {
  let authority: FakeAuthority
  const open = useFakes(made => (authority = made))
  const count = (start: string): number => authority.paths.filter(path => path.startsWith(start)).length

  test('is polled for the one order as often as it requests, by the next process as well', async () => {
    await using world = await open()
    const domain = await world.reserve('slow.example.com')
    const asked: number[] = []
    authority.signing = slow
    authority.answers = ({ path }) => {
      if (/^.(finalize|order)/.test(path)) asked.push(Date.now())
      return undefined
    }
    const first = await world.issue({ patienceMs: 500 })
    const job = await world.until(async () => {
      const found = await world.job(domain.id)
      return found?.retries_at ? found : undefined
    })
    assert.equal(job.error_code, null)
    assert.equal(job.msg, 'The certificate is being issued.')
    assert.ok(Date.parse(job.retries_at ?? '') >= Date.parse(job.started_at))
    await first.close()
    await world.issue({ patienceMs: 500 })
    await world.issued(domain.id)
    assert.deepEqual([count('/new-order'), count('/finalize/')], [1, 1])
    const waits = asked.slice(1).map((at, index) => at - (asked[index] ?? 0))
    assert.ok(waits.length > 1 && Math.min(...waits) >= slow.askAgainS * 1000, waits.join())
    await assertNothingLeft(world)
  })

  for (const path of ['/directory', '/nonce', '/new-account', '/new-order', '/finalize', '/certificate'])
    test(`is not called before the time of Retry-After when it limits ${path}`, async () => {
      await using world = await open()
      const domain = await world.reserve('limited.example.com')
      authority.answers = message => (message.path.startsWith(path) ? limited(7200) : undefined)
      await world.issue()
      const job = await world.failure(domain.id)
      assert.equal(job.error_code, 'INTERNAL_ERROR')
      assert.match(job.msg, /^The CA requires a delay \(rateLimited\): ./)
      const wait = Date.parse(job.retries_at ?? '') - Date.now()
      assert.ok(Math.abs(wait - 2 * HOUR) < 30_000, `${wait}`)
    })

  for (const path of ['/finalize', '/certificate'])
    test(`gets no second order after it limited ${path}`, async () => {
      await using world = await open()
      const domain = await world.reserve('once.example.com')
      let refusals = 2
      authority.answers = message =>
        message.path.startsWith(path) && refusals-- > 0 ? limited(1) : undefined
      await world.issue()
      await world.issued(domain.id)
      assert.equal(count('/new-order'), 1)
      await assertNothingLeft(world)
    })
})
