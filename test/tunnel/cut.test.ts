import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { suite, test } from 'node:test'
import { cut } from '#tunnel/splice.ts'

async function pair() {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const near = connect({
    port: (server.address() as AddressInfo).port,
    host: '127.0.0.1',
    allowHalfOpen: true,
  })
  const [[far]] = (await Promise.all([once(server, 'connection'), once(near, 'connect')])) as [
    [Socket],
    unknown,
  ]
  return { near, far, [Symbol.dispose]: () => void server.close() }
}

suite('cutting a connection', () => {
  test('notifies the peer by a reset', async () => {
    using ends = await pair()
    const failed = once(ends.far.resume(), 'error')
    cut(ends.near)
    const [error] = (await failed) as [NodeJS.ErrnoException]
    assert.equal(error.code, 'ECONNRESET')
  })

  test('closes one that is just being ended too, where the system refuses to reset it', async () => {
    using ends = await pair()
    ends.far.on('error', () => undefined)
    ends.far.resume()
    const closed = once(ends.near, 'close', { signal: AbortSignal.timeout(30_000) })
    ends.near.write('last words')
    ends.near.end()
    cut(ends.near)
    await closed
    ends.far.destroy()
  })
})
