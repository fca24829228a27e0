import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { connect } from '#agent/index.ts'
import { Ear } from '../tunnel/support.ts'
import { type GatewayEnd, ScriptedGateway } from './scripted-gateway.ts'
import { disposable, StatusLog, tcp } from './support.ts'

/** A gateway that names another one, as one of several processes does. */
async function twoGateways(nodes: { first?: string; second?: string | ((count: number) => string) } = {}) {
  const second = await ScriptedGateway.start({
    auth: ({ ClientId }, count) => {
      const Node = typeof nodes.second === 'function' ? nodes.second(count) : nodes.second
      return { Version: '3', ClientId, Extra: { Cookie: 'two', ...(Node && { Node }) } }
    },
  })
  const first = await ScriptedGateway.start({
    auth: () => ({
      Version: '3',
      ClientId: 'ts_1',
      Extra: {
        Cookie: 'one',
        ConnectAddresses: [
          { Region: '', ServerAddr: 'ignored.test:1' },
          { Region: '', ServerAddr: second.address },
        ],
        ...(nodes.first && { Node: nodes.first }),
      },
    }),
  })
  return {
    first,
    second,
    async [Symbol.asyncDispose]() {
      await first[Symbol.asyncDispose]()
      await second[Symbol.asyncDispose]()
    },
  }
}

const signedIn = (gateway: ScriptedGateway, index: number): Promise<GatewayEnd> =>
  gateway.until(() => (gateway.ends[index]?.login ? gateway.ends[index] : undefined))

suite('an agent of a gateway with several processes', () => {
  test('has a second connection, with every tunnel on it, and survives the loss of either', async () => {
    await using both = await twoGateways()
    const { first, second } = both
    await using service = await tcp(socket => socket.end('served'))
    const log = new StatusLog()
    await using agent = disposable(await connect(first.options({ onStatus: log.onStatus })))
    const near = await signedIn(first, 0)
    const far = await signedIn(second, 0)
    assert.equal(far.login?.ClientId, 'ts_1')
    assert.equal(far.login?.Extra.LegNumber, 1)
    assert.equal(near.login?.Extra.LegNumber, 0)

    const tunnel = await agent.listen({ proto: 'tcp', forwardTo: service.port })
    const labelled = await agent.listen({ labels: { a: 'b' }, forwardTo: service.port })
    await second.until(() => (far.binds.length + far.labels.length === 2 ? true : undefined))
    assert.equal(far.binds[0]?.Id, tunnel.id)
    assert.equal(far.binds[0]?.Extra.Token, `t-${tunnel.id}`)
    assert.equal(labelled.id, 'tl_1')
    for (const end of [near, far]) {
      const ear = new Ear()
      const stream = await end.visit(tunnel.id)
      stream.attach(ear)
      await ear.whenEnded
      assert.equal(ear.text, 'served')
      stream.end()
    }

    near.socket.destroy()
    const again = await signedIn(first, 1)
    assert.equal(again.login?.ClientId, 'ts_1')
    await first.until(() => (again.binds.length + again.labels.length === 2 ? true : undefined))
    // With the other connection there it was never away.
    assert.ok(log.seen.every(({ state }) => state !== 'reconnecting'))
    far.socket.destroy()
    await second.until(() => second.ends[1]?.binds[0])
    await tunnel.close()
    assert.deepEqual([again.unbinds, second.ends[1]?.unbinds], [[tunnel.id], [tunnel.id]])
  })

  test('dials again when both connections end in the same process', async () => {
    await using both = await twoGateways({
      first: 'node-1',
      second: count => (count < 3 ? 'node-1' : 'node-2'),
    })
    const { first, second } = both
    await using agent = disposable(await connect(first.options()))
    const far = await signedIn(second, 3)
    const tunnel = await agent.listen({ proto: 'tcp', forwardTo: 1 })
    await second.until(() => far.binds[0])
    assert.equal(far.binds[0]?.Id, tunnel.id)
    assert.equal(second.ends.length, 4)
    assert.deepEqual(second.ends[0]?.binds, [])
  })

  test('dials the same address again where the gateway names no other', async () => {
    await using gateway = await ScriptedGateway.start({
      auth: (_, count) => ({
        Version: '3',
        ClientId: 'ts_1',
        Extra: { Node: `node-${count}`, ConnectAddresses: [{ ServerAddr: '' }, { ServerAddr: '' }] },
      }),
    })
    const log = new StatusLog()
    await using agent = disposable(await connect(gateway.options({ onStatus: log.onStatus })))
    const far = await signedIn(gateway, 1)
    assert.equal(far.login?.Extra.LegNumber, 1)
    const tunnel = await agent.listen({ proto: 'tcp', forwardTo: 1 })
    await gateway.until(() => far.binds[0])
    assert.equal(far.binds[0]?.Id, tunnel.id)
    assert.equal(log.seen.filter(({ state }) => state === 'online').length, 1)
  })

  test('is content with one connection when no other process answers', async () => {
    await using both = await twoGateways({ first: 'node-1', second: 'node-1' })
    const { first, second } = both
    await using agent = disposable(await connect(first.options()))
    await signedIn(second, 7)
    await second.ends[7]?.session.closed
    assert.equal(agent.status.state, 'online')
    // What would be a further attempt comes within the cap of the retries.
    await new Promise(resolve => setTimeout(resolve, 100))
    assert.equal(second.ends.length, 8)
  })

  test('is content with one connection when what is named is no address', async () => {
    await using gateway = await ScriptedGateway.start({
      auth: () => ({
        Version: '3',
        ClientId: 'ts_1',
        Extra: { ConnectAddresses: [{ ServerAddr: 'x' }, { ServerAddr: 'file:///etc/passwd' }] },
      }),
    })
    await using agent = disposable(await connect(gateway.options()))
    assert.equal(agent.status.state, 'online')
  })
})
