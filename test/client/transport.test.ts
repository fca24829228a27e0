import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite, test } from 'node:test'
import { createClient } from '#client/client.ts'
import { UnreachableError } from '#client/errors.ts'

/** An API that answers in a way of the test's choosing. */
async function standIn(answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

suite('a call of the client', () => {
  test('sends its key and the version of the API', async () => {
    const headers: unknown[] = []
    await using api = await standIn((request, response) => {
      headers.push(request.headers['authorization'], request.headers['adit-version'])
      response.end('{}')
    })
    await createClient({ url: api.url, token: 'key' }).self()
    assert.deepEqual(headers, ['Bearer key', '2'])
  })

  test('gives up on an answer that does not come, or does not end', async () => {
    await using api = await standIn((request, response) => {
      if (request.url === '/self') response.write('{')
    })
    const impatient = createClient({ url: api.url, token: 'key', timeoutMs: 100 })
    for (const call of [impatient.root, impatient.self]) {
      await assert.rejects(call(), (error: unknown) => {
        assert.ok(error instanceof UnreachableError)
        return /nothing came within 0.1 s/.test(error.message)
      })
    }
  })

  test('reports a refused connection, and a response that is not from the API', async () => {
    await using api = await standIn((_request, response) => response.writeHead(502).end('<html>'))
    await assert.rejects(createClient({ url: api.url, token: 'key' }).self(), { status: 502 })
    await using page = await standIn((_request, response) => response.end('<html>'))
    await assert.rejects(createClient({ url: page.url, token: 'key' }).self(), {
      name: 'ApiError',
      status: 200,
    })
    const gone = await standIn(() => {})
    await gone[Symbol.asyncDispose]()
    await assert.rejects(createClient({ url: gone.url, token: 'key' }).self(), /ECONNREFUSED/)
  })
})
