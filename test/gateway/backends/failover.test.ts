import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { suite, test } from 'node:test'
import { build, HttpFront, closingService, records, service, exchangeBytes, tcpService } from './support.ts'
import { freePort } from '../../support/free-ports.ts'

const { failover, fixed, response, group, weighted } = records

suite('a failover backend', () => {
  test('uses the first while it can be reached', async () => {
    await using one = await service('one')
    await using two = await service('two')
    await using front = new HttpFront(
      build({ top: failover('x', 'y'), x: fixed(one.port), y: fixed(two.port) }),
    )
    for (let count = 0; count < 3; count++) assert.equal((await front.get()).body, 'one')
    assert.equal(two.connections(), 0)
  })

  test('uses the next when the first cannot be reached, with the whole body', async () => {
    await using two = await service('two')
    const rows = { top: failover('x', 'y'), x: fixed(await freePort()), y: fixed(two.port) }
    await using front = new HttpFront(build(rows))
    // More than what rests are after, so that quick refusals are passed over too.
    for (let count = 0; count < 5; count++) assert.equal((await front.post('content')).body, 'two')
    assert.deepEqual(new Set(two.asked.map(({ text }) => text)), new Set(['POST / content']))
    assert.deepEqual([two.asked.length, front.lost.at(-1)], [5, undefined])
  })

  test('uses the first again as soon as it is back', async () => {
    const port = await freePort()
    await using two = await service('two')
    await using front = new HttpFront(build({ top: failover('x', 'y'), x: fixed(port), y: fixed(two.port) }))
    assert.equal((await front.get()).body, 'two')
    const back = createServer((_request, answer) => answer.end('one')).listen(port, '127.0.0.1')
    await new Promise(resolve => back.once('listening', resolve))
    assert.equal((await front.get()).body, 'one')
    back.closeAllConnections()
    await new Promise(resolve => back.close(resolve))
  })

  test('does not fail over after a response, whatever its status', async () => {
    await using one = await service('one', (_request, answer) =>
      answer.writeHead(503, { 'Content-Length': '4' }).end('busy'),
    )
    await using two = await service('two')
    await using front = new HttpFront(
      build({ top: failover('x', 'y'), x: fixed(one.port), y: fixed(two.port) }),
    )
    const { status, body } = await front.get()
    assert.deepEqual([status, body, two.connections()], [503, 'busy', 0])
  })

  test('never sends a request twice', async () => {
    await using one = await closingService()
    await using two = await service('two')
    await using front = new HttpFront(
      build({ top: failover('x', 'y'), x: fixed(one.port), y: fixed(two.port) }),
    )
    assert.equal((await front.get()).status, 502)
    assert.deepEqual([front.lost, two.connections()], [['no-response'], 0])
  })

  test('uses the next when a group has no tunnel', async () => {
    const rows = { top: failover('x', 'y'), x: group({ app: 'none' }), y: response('sorry', 503) }
    await using front = new HttpFront(build(rows))
    const { status, body } = await front.get()
    assert.deepEqual([status, body], [503, 'sorry'])
    const [context] = front.traces
    assert.deepEqual([context?.backendId, context?.notes], ['y', ['backend x: backend_empty']])
  })

  test('reports why the last cannot be reached when none can', async () => {
    const rows = { top: failover('x', 'y'), x: fixed(await freePort()), y: group({ app: 'none' }) }
    await using front = new HttpFront(build(rows))
    const { status, head } = await front.get()
    assert.equal(status, 503)
    assert.match(head, /Adit-Error-Code: ERR_ADIT_90042/)
    assert.deepEqual(front.lost, ['not-sent'])
  })

  test('without children answers 503', async () => {
    await using front = new HttpFront(build({ top: failover() }))
    const { status, head } = await front.get()
    assert.equal(status, 503)
    assert.match(head, /Adit-Error-Code: ERR_ADIT_724/)
    assert.equal(front.backend.dial, undefined)
  })

  test('skips a whole tree that cannot be reached', async () => {
    const down = await freePort()
    const rows = {
      top: failover('tree', 'z'),
      tree: weighted({ inner: 1 }),
      inner: failover('x', 'y'),
      x: fixed(down),
      y: group({ app: 'none' }),
      z: response('last'),
    }
    await using front = new HttpFront(build(rows))
    assert.equal((await front.post('content')).body, 'last')
  })

  test('opens connections to the first that can be reached', async () => {
    await using two = await tcpService('two')
    const rows = {
      top: failover('r', 'x', 'y'),
      r: response('no'),
      x: fixed(await freePort()),
      y: fixed(two.port),
    }
    const backend = build(rows, { edge: 'tcp' })
    assert.equal(await exchangeBytes(backend, 'hello'), 'two: hello')
  })

  test('opens none when none can be reached', async () => {
    const backend = build({ top: failover('x'), x: fixed(await freePort()) }, { edge: 'tcp' })
    await assert.rejects(exchangeBytes(backend, 'hello'), { name: 'DialError' })
  })
})
