import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { build, HttpFront, records, exchangeBytes, tcpService } from './support.ts'

const { weighted, response, fixed } = records
const children = { a: response('a'), b: response('b'), c: response('c') }

/** Who answered each of so many requests. */
async function answers(front: HttpFront, count: number): Promise<string> {
  let order = ''
  for (let at = 0; at < count; at++) order += (await front.get()).body
  return order
}

const share = (order: string, name: string): number => order.split(name).length - 1

suite('a weighted backend', () => {
  test('shares requests exactly by weight', async () => {
    await using front = new HttpFront(build({ top: weighted({ a: 5, b: 3, c: 2 }), ...children }))
    const order = await answers(front, 60)
    assert.deepEqual(
      ['a', 'b', 'c'].map(name => share(order, name)),
      [30, 18, 12],
    )
  })

  test('interleaves the children', async () => {
    await using front = new HttpFront(build({ top: weighted({ a: 1, b: 1 }), ...children }))
    assert.match(await answers(front, 8), /^(ab){4}$|^(ba){4}$/)
    await using uneven = new HttpFront(build({ top: weighted({ a: 8, b: 2 }), ...children }))
    const order = await answers(uneven, 20)
    assert.deepEqual([share(order.slice(0, 10), 'b'), share(order.slice(10), 'b')], [2, 2])
    assert.doesNotMatch(order, /bb/)
  })

  test('sends nothing to the weight 0, whose backend may be missing', async () => {
    await using front = new HttpFront(build({ top: weighted({ a: 1, b: 0, gone: 0 }), ...children }))
    assert.equal(await answers(front, 5), 'aaaaa')
  })

  for (const [name, weights] of Object.entries({ 'only the weight 0': { a: 0, b: 0 }, 'no children': {} }))
    test(`with ${name} answers 503`, async () => {
      await using front = new HttpFront(build({ top: weighted(weights), ...children }))
      const { status, head } = await front.get()
      assert.equal(status, 503)
      assert.match(head, /Adit-Error-Code: ERR_ADIT_724/)
      assert.deepEqual([front.lost, front.backend.dial], [['not-sent'], undefined])
    })

  test('shares connections among children that support TCP', async () => {
    await using one = await tcpService('one')
    await using two = await tcpService('two')
    const rows = { top: weighted({ x: 3, y: 1, a: 9 }), x: fixed(one.port), y: fixed(two.port), ...children }
    const backend = build(rows, { edge: 'tcp' })
    for (let count = 0; count < 8; count++)
      assert.match(await exchangeBytes(backend, 'hi'), /^(one|two): hi$/)
    assert.deepEqual([one.connections(), two.connections()], [6, 2])
  })

  test('with only HTTP children accepts no TCP connections', () => {
    assert.equal(build({ top: weighted({ a: 1 }), ...children }, { edge: 'tcp' }).dial, undefined)
  })

  test('may contain another weighted backend', async () => {
    const rows = { top: weighted({ inner: 1, c: 1 }), inner: weighted({ a: 1, b: 1 }), ...children }
    await using front = new HttpFront(build(rows))
    const order = await answers(front, 12)
    assert.deepEqual(
      ['a', 'b', 'c'].map(name => share(order, name)),
      [3, 3, 6],
    )
  })
})
