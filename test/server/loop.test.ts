import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { connect } from 'adit'
import { startServer } from '../support/server.ts'

test('a tunnel whose service is the gateway gets an error page, not an endless loop', async () => {
  await using server = await startServer()
  const { bound, authtoken, dataDir } = server
  await using closing = new AsyncDisposableStack()
  const agent = await connect({
    server: `127.0.0.1:${bound.agent?.port}`,
    authtoken,
    ca: `${dataDir}/ca.pem`,
  })
  closing.defer(() => agent.close())
  await agent.listen({ proto: 'http', domain: 'loop', forwardTo: bound.http?.port ?? 0 })
  const headers = { host: 'loop.adit.localhost' }
  const request = get({ host: '127.0.0.1', port: bound.http?.port, headers, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  assert.equal(response.statusCode, 508)
  // The gateway meets its own answer as that of a service, and lets no service speak for it in a header.
  assert.match(await text(response), /ERR_ADIT_90048/)
})
