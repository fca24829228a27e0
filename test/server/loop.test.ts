import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { connect } from 'adit'
import { startServer } from '../support/server.ts'

test('a tunnel that leads back to the gateway ends in a page that says so, not in an endless loop', async () => {
  await using server = await startServer()
  const { bound, authtoken, dataDir } = server
  const agent = await connect({
    server: `127.0.0.1:${bound.agent?.port}`,
    authtoken,
    ca: `${dataDir}/ca.pem`,
  })
  await agent.listen({ proto: 'http', domain: 'loop', forwardTo: bound.http?.port ?? 0 })
  const headers = { host: 'loop.adit.localhost' }
  const request = get({ host: '127.0.0.1', port: bound.http?.port, headers, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  assert.equal(response.statusCode, 508)
  assert.equal(response.headers['adit-error-code'], 'ERR_ADIT_90048')
  await once(response.resume(), 'end')
  await agent.close()
})
