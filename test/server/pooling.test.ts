import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite, test } from 'node:test'
import { connect } from 'adit'
import { disposable } from '../agent/support.ts'
import { startServer, type TestServer } from '../support/server.ts'

async function startService(text: string) {
  const service = createServer((_, response) => response.end(text)).listen(0, '127.0.0.1')
  await once(service, 'listening')
  return { port: (service.address() as AddressInfo).port, [Symbol.dispose]: () => void service.close() }
}

const connectTo = async ({ bound, authtoken, dataDir }: TestServer) =>
  disposable(await connect({ server: `127.0.0.1:${bound.agent?.port}`, authtoken, ca: `${dataDir}/ca.pem` }))

async function visit({ bound }: TestServer, host: string): Promise<string> {
  const request = get({ host: '127.0.0.1', port: bound.http?.port, headers: { host }, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  for await (const part of response.setEncoding('utf8')) text += String(part)
  return text
}

suite('agents that share an address', () => {
  for (const workers of ['1', '2'])
    test(`get requests by round robin, and one of them continues alone, with ${workers} gateway processes`, async () => {
      using first = await startService('first')
      using second = await startService('second')
      await using server = await startServer({ workers })
      await using one = await connectTo(server)
      await using two = await connectTo(server)
      const shared = { proto: 'http', domain: 'pool', poolingEnabled: true } as const
      await one.listen({ ...shared, forwardTo: first.port })
      const member = await two.listen({ ...shared, forwardTo: second.port })
      const visits = Array.from({ length: 40 }, () => visit(server, 'pool.adit.localhost'))
      const texts = await Promise.all(visits)
      // Each process takes turns on its own, and starts with the same member.
      for (const text of ['first', 'second']) {
        const share = texts.filter(each => each === text).length
        assert.ok(share >= 19 && share <= 21, `${share} of 40 for ${text}`)
      }
      const { body } = await server.api.get('/endpoints')
      assert.equal(new Set(body.endpoints.map(({ id }: { id: string }) => id)).size, 2)
      await member.close()
      const rest = await Promise.all(Array.from({ length: 8 }, () => visit(server, 'pool.adit.localhost')))
      assert.deepEqual(new Set(rest), new Set(['first']))
    })
})
