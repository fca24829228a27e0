import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { connect } from 'adit'
import { startServer } from '../support/server.ts'

test('plain HTTP for a name that is served by HTTPS alone is sent there, port included', async () => {
  await using server = await startServer()
  const { bound, authtoken, dataDir } = server
  const agent = await connect({
    server: `127.0.0.1:${bound.agent?.port}`,
    authtoken,
    ca: `${dataDir}/ca.pem`,
  })
  await agent.listen({ proto: 'https', domain: 'secure', forwardTo: 1 })
  const headers = { host: 'secure.adit.localhost' }
  const request = get({ host: '127.0.0.1', port: bound.http?.port, path: '/a?b=c', headers, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  assert.equal(response.statusCode, 308)
  assert.equal(response.headers.location, `https://secure.adit.localhost:${bound.https?.port}/a?b=c`)
  await once(response.resume(), 'end')
  await agent.close()
})
