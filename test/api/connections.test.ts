import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, suite, test } from 'node:test'
import { startServer, type TestServer } from '../support/server.ts'
import { assertRefused, exchange, readAnswer, send } from './rejection-support.ts'

suite('a connection to the API', () => {
  let server: TestServer
  before(async () => (server = await startServer()))
  after(() => server[Symbol.asyncDispose]())

  const open = async (): Promise<Socket> => {
    const { hostname, port } = new URL(server.api.url)
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    await once(socket, 'connect')
    return socket
  }
  const head = (line: string, ...more: string[]): string =>
    [line, 'Host: a', `Authorization: Bearer ${server.api.token}`, ...more, '', ''].join('\r\n')
  const post = (...more: string[]): string =>
    head('POST /ip_policies HTTP/1.1', 'Content-Type: application/json', ...more)
  const statusesIn = (received: string): number[] =>
    [...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(match => Number(match[1]))

  test('gets the responses to pipelined requests in order', async () => {
    const requests = [
      head('GET /self HTTP/1.1'),
      post('Content-Length: 2') + '{}',
      post('Transfer-Encoding: chunked') + '2\r\n{}\r\n0\r\n\r\n',
      head('GET /nothing/x HTTP/1.1', 'Connection: close'),
    ]
    assert.deepEqual(statusesIn(await exchange(server.api, requests.join(''))), [200, 201, 201, 404])
  })

  test('gets all responses after its client has half-closed', async () => {
    const requests = post('Content-Length: 2') + '{}' + head('GET /self HTTP/1.1')
    assert.deepEqual(statusesIn(await exchange(server.api, requests, 'then end')), [201, 200])
  })

  test('of HTTP/1.0 closes unless it asks for more, and needs no Host for a health check', async () => {
    assert.equal(readAnswer(await exchange(server.api, head('GET /self HTTP/1.0'))).status, 200)
    assert.equal(readAnswer(await exchange(server.api, 'GET /healthz HTTP/1.0\r\n\r\n')).status, 200)
    const kept = head('GET /self HTTP/1.0', 'Connection: keep-alive') + head('GET /self HTTP/1.0')
    assert.deepEqual(statusesIn(await exchange(server.api, kept)), [200, 200])
  })

  test('gets the URLs of the host that each request names', async () => {
    const socket = await open()
    for (const host of ['a', 'b', 'b', 'a', 'c']) {
      socket.write(head('GET /ip_policies HTTP/1.1').replace('Host: a', `Host: ${host}`))
      assert.match(String((await once(socket, 'data'))[0]), new RegExp(`"uri":"http://${host}/ip_policies"`))
    }
    socket.destroy()
  })

  test('is asked for a body only when it will be read', async () => {
    const socket = await open()
    socket.write(post('Content-Length: 2', 'Expect: 100-continue', 'Connection: close'))
    assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 100 Continue\r\n\r\n$/)
    socket.write('{}')
    assert.match(await text(socket), /^HTTP\/1\.1 201 /)
    socket.destroy()
    const refused = post('Content-Length: 2', 'Expect: 100-continue').replace(server.api.token, 'wrong')
    assert.deepEqual(statusesIn(await exchange(server.api, refused)), [401])
  })

  test('of a rejected body that is short can be used again, of a long one it is closed', async () => {
    const wrong = (...more: string[]): string => post(...more).replace(server.api.token, 'wrong')
    const again = wrong('Content-Length: 2') + '{}' + head('GET /self HTTP/1.1', 'Connection: close')
    assert.deepEqual(statusesIn(await exchange(server.api, again)), [401, 200])
    const answer = readAnswer(await exchange(server.api, wrong('Content-Length: 1000000')))
    assert.deepEqual([answer.status, answer.headers.get('connection')], [401, 'close'])
    assertRefused(readAnswer(await exchange(server.api, post('Content-Length: 1048577'))), 'body_too_large')
    const chunk = `10000\r\n${'a'.repeat(65_536)}\r\n`
    const long = post('Transfer-Encoding: chunked') + chunk.repeat(17)
    assertRefused(readAnswer(await exchange(server.api, long)), 'body_too_large')
  })

  test('may have a head of 16 KiB, and not one byte more', async () => {
    const line = 'GET /self HTTP/1.1'
    const padded = (length: number): string => {
      const rest = head(line, 'Connection: close', 'X-A: ').length
      return head(line, 'Connection: close', `X-A: ${'a'.repeat(length - rest)}`)
    }
    assert.equal(readAnswer(await exchange(server.api, padded(16_384))).status, 200)
    assertRefused(readAnswer(await exchange(server.api, padded(16_385))), 'headers_too_large')
  })

  test('gets responses with a date, and without what only the gateway sends', async () => {
    const { headers } = await send(server.api, { line: 'GET /self HTTP/1.1' })
    assert.ok(Math.abs(Date.parse(headers.get('date') ?? '') - Date.now()) < 60_000)
    assert.equal(headers.get('adit-request-id'), null)
  })
})
