import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { operations } from '#contract/operations.ts'
import { newId } from '#base/ids.ts'
import { startServer, type TestServer } from '../support/server.ts'

interface Described {
  readonly requestBody?: { readonly required?: boolean }
}

let server: TestServer
before(async () => {
  server = await startServer()
})
after(() => server[Symbol.asyncDispose]())

const call = (method: string, path: string, headers: Record<string, string> = {}) =>
  server.api.call(method, path, { headers })

/** A path of the operation; what it names does not exist, and is not looked for before the body is read. */
const pathOf = (path: string): string => path.replace(/\{\w+\}/g, () => newId('ep'))

suite('a call without a body', () => {
  test('is rejected wherever OpenAPI requires one', async () => {
    const { body: document } = await server.api.get('/openapi.json', { token: null })
    const demanding = operations.filter(({ method, path }) => {
      const described = document.paths[path][method.toLowerCase()] as Described
      return described.requestBody?.required === true
    })
    assert.deepEqual(
      demanding.map(({ id }) => id),
      operations.filter(({ input }) => input).map(({ id }) => id),
    )
    for (const { method, path } of demanding)
      for (const headers of [{}, { 'content-type': 'application/json' }]) {
        const { status, body } = await call(method, pathOf(path), headers)
        assert.equal(body?.error_code, 'ERR_ADIT_90281', `${method} ${path}: ${status}`)
        assert.equal(status, 400)
      }
  })

  test('makes no API key', async () => {
    const keys = async (): Promise<number> => (await server.api.get('/api_keys')).body.keys.length
    const held = await keys()
    assert.equal((await call('POST', '/api_keys')).status, 400)
    assert.equal(await keys(), held)
  })

  test('is an empty module from the Python client, which sends it so', async () => {
    const edge = (await server.api.post('/edges/https')).body.id
    const match = { match_type: 'path_prefix', match: '/' }
    const route = (await server.api.post(`/edges/https/${edge}/routes`, match)).body.id
    const path = `/edges/https/${edge}/routes/${route}/compression`
    const python = { 'user-agent': 'ngrok-api-python/0.11.0/3.12' }
    assert.equal((await call('PUT', path)).status, 400)
    assert.equal((await call('PUT', path, python)).status, 200)
    assert.equal((await call('POST', '/api_keys', python)).status, 400)
  })
})
