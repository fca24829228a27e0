import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { suite, test } from 'node:test'
import { start, untilRefused, type Program } from './program.ts'
import { Folder } from '../support/folder.ts'
import { closed } from '../support/net.ts'

const BODY = JSON.stringify({ description: 'sent slowly' })

/** Starts a call that lasts until its body is sent; resolves when the server has begun to process it. */
async function beginSlowly(program: Program): Promise<Socket> {
  const { port } = new URL(program.url)
  const socket = connect({ port: Number(port), host: '127.0.0.1' })
  const head = [
    'POST /ip_policies HTTP/1.1',
    'host: localhost',
    `authorization: Bearer ${program.key}`,
    'content-type: application/json',
    `content-length: ${BODY.length}`,
    // The answer to this is how we know that the call has arrived.
    'expect: 100-continue',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  const [begun] = await once(socket, 'data')
  assert.match(String(begun), /^HTTP\/1\.1 100 /)
  socket.write(BODY.slice(0, 10))
  return socket
}

suite('stopping', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`on ${signal} completes requests in flight, accepts no new ones, and exits with 0`, async () => {
      using folder = new Folder()
      await using program = await start({ ADIT_DATA_DIR: folder.path })
      const key = program.key ?? ''
      const socket = await beginSlowly(program)
      const ended = program.end(signal)
      await untilRefused(Number(new URL(program.url).port))
      socket.write(BODY.slice(10))
      assert.match(await text(socket), /^HTTP\/1\.1 201 .*"description":"sent slowly"/s)
      assert.equal(await ended, 0)
      assert.equal(program.stderr, '')

      await using again = await start({ ADIT_DATA_DIR: folder.path })
      const { body } = await again.caller(key).get('/ip_policies')
      assert.deepEqual(
        body.ip_policies.map((policy: { description: string }) => policy.description),
        ['sent slowly'],
      )
    })
  }

  test('does not wait for idle connections', async () => {
    using folder = new Folder()
    await using program = await start({ ADIT_DATA_DIR: folder.path })
    const { port } = new URL(program.url)
    const idle = connect({ port: Number(port), host: '127.0.0.1' })
    idle.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await once(idle, 'data')
    const ended = closed(idle)
    assert.equal(await program.end(), 0)
    await ended
  })
})
