import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after, before, suite, test } from 'node:test'
import { service, tcpService } from '../../gateway/backends/support.ts'
import { World } from './world.ts'
import { freePort } from '../../support/free-ports.ts'
import { until } from '../../support/until.ts'
import { listening } from '../../support/net.ts'

const fixed = (port: number) => ({ address: `127.0.0.1:${port}` })

/** What a connection is answered that says something and ends; empty when it is closed at once. */
async function spoken(port: number, text: string): Promise<string> {
  const socket: Socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  try {
    await once(socket, 'connect')
    socket.end(text)
    return (await buffer(socket)).toString()
  } catch {
    return ''
  } finally {
    socket.destroy()
  }
}

suite('backends of an edge', () => {
  let world: World
  before(async () => (world = await World.start()))
  after(() => world[Symbol.asyncDispose]())

  /** An edge with this name whose only route leads to the backend. */
  async function lead(name: string, backend: string): Promise<string> {
    const host = `${name}.adit.localhost`
    await world.route(await world.edge([host]), '/', backend)
    return host
  }

  test('are used by weight, and a change of the weights applies at once', async () => {
    const [one, two] = [await world.fixedResponse('1'), await world.fixedResponse('2')]
    const { id } = await world.make('/backends/weighted', { backends: { [one]: 3, [two]: 1 } })
    const host = await lead('weighted', id)
    const answers = async (): Promise<string> => {
      let order = ''
      for (let count = 0; count < 8; count++) order += (await world.ask(host)).text
      return order
    }
    assert.equal((await answers()).replaceAll('2', ''), '111111')
    await world.change(`/backends/weighted/${id}`, { backends: { [one]: 0, [two]: 1 } })
    await until(answers, { fits: order => order === '22222222' })
    await world.change(`/backends/weighted/${id}`, { backends: { [one]: 0, [two]: 0 } })
    const none = await until(() => world.ask(host), { fits: ({ status }) => status === 503 })
    assert.equal(none.code, 'ERR_ADIT_724')
  })

  test('replace one that cannot be reached, for requests with a body too', async () => {
    await using site = await service('site')
    const sorry = await world.fixedResponse('sorry', 503)
    const first = await world.make('/backends/static', fixed(site.port))
    const inner = await world.make('/backends/weighted', { backends: { [first.id]: 1 } })
    const { id } = await world.make('/backends/failover', { backends: [inner.id, sorry] })
    const host = await lead('failover', id)
    const post = () => world.ask(`${host}/a`, { method: 'POST', body: 'content' })
    assert.deepEqual([(await post()).text, site.asked[0]?.text], ['site', 'POST /a content'])
    await site[Symbol.asyncDispose]()
    const { status, text, code } = await post()
    assert.deepEqual([status, text, code], [503, 'sorry', undefined])
  })

  test('use every tunnel with the labels, and no request is lost when a service stops', async () => {
    const { id } = await world.make('/backends/tunnel_group', { labels: { app: 'both' } })
    const host = await lead('group', id)
    assert.equal((await world.ask(host)).code, 'ERR_ADIT_90042')
    await using one = await service('one')
    await using two = await service('two')
    for (const { port } of [one, two])
      await (await world.agent()).listen({ labels: { app: 'both' }, forwardTo: port })
    const seen = new Set<string>()
    for (let count = 0; count < 10; count++) seen.add((await world.ask(host)).text)
    assert.deepEqual(seen, new Set(['one', 'two']))
    await one[Symbol.asyncDispose]()
    for (let count = 0; count < 10; count++) assert.equal((await world.ask(host)).text, 'two')
    await two[Symbol.asyncDispose]()
    assert.equal((await world.ask(host)).code, 'ERR_ADIT_8012')
  })

  test('serve TCP connections', async () => {
    await using site = await tcpService('tcp')
    const port = await freePort()
    const down = await world.make('/backends/static', fixed(await freePort()))
    const up = await world.make('/backends/static', fixed(site.port))
    const { id } = await world.make('/backends/failover', { backends: [down.id, up.id] })
    await world.make('/edges/tcp', { hostports: [`any.test:${port}`], backend: { backend_id: id } })
    const answer = await until(() => spoken(port, 'hello'), { fits: text => text !== '' })
    assert.equal(answer, 'tcp: hello')
  })
})

suite('a static backend in a private network', () => {
  test('is not connected to unless the operator allows it', async () => {
    await using world = await World.start({ egress_allow: '10.0.0.0/8' })
    await using site = await listening(createServer())
    const { id } = await world.make('/backends/static', { address: `localhost:${site.port}` })
    const host = 'private.adit.localhost'
    await world.route(await world.edge([host]), '/', id)
    const { status, code, text } = await world.ask(host, { headers: { accept: 'text/html' } })
    assert.deepEqual([status, code], [502, 'ERR_ADIT_90160'])
    assert.match(text, /egress_allow/)
    assert.doesNotMatch(text, /127\.0\.0\.1/)
    assert.equal(site.connections(), 0)
  })
})
