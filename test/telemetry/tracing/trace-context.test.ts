import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { after, before, suite, test } from 'node:test'
import { World } from '../../e2e/edges/world.ts'

const TRACE = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7',
  baggage: 'userId=alice,serverNode=DF%2028',
}

const tell = ({ headers }: IncomingMessage, response: ServerResponse): void =>
  void response.end(JSON.stringify(headers))

suite('the trace of a client', () => {
  let world: World
  const hosts = { edge: 'traced.adit.localhost', tunnel: 'tunnelled.adit.localhost' }

  before(async () => {
    world = await World.start()
    await world.route(await world.edge([hosts.edge]), '/', await world.static(tell))
    const agent = await world.agent()
    const forwardTo = `127.0.0.1:${await world.service(tell)}`
    await agent.listen({ proto: 'https', domain: hosts.tunnel, forwardTo })
  })
  after(() => world[Symbol.asyncDispose]())

  for (const [way, host] of Object.entries(hosts)) {
    const reported = async (headers: Record<string, string>): Promise<Record<string, string>> =>
      JSON.parse((await world.ask(host, { headers })).text)

    test(`goes through an ${way === 'edge' ? 'edge' : 'agent'} as it came`, async () => {
      const found = await reported(TRACE)
      for (const [name, value] of Object.entries(TRACE)) assert.equal(found[name], value, name)
    })

    test(`is not made up on the way through an ${way === 'edge' ? 'edge' : 'agent'}, nor repaired`, async () => {
      for (const name of Object.keys(TRACE)) assert.ok(!(name in (await reported({}))), name)
      assert.equal((await reported({ traceparent: 'broken' }))['traceparent'], 'broken')
    })
  }
})
