import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { connect } from '#agent/index.ts'
import { elsewhereAlpn } from '#tunnel/alpn.ts'
import { RecordingSink } from '../tunnel/support.ts'
import { type GatewayEnd, ScriptedGateway } from './scripted-gateway.ts'
import { disposable, StatusLog, tcp } from './support.ts'

interface Nodes {
  readonly first?: string
  readonly second?: string | ((count: number) => string)
  /** Whether the second one takes an agent in that offers these protocols. */
  readonly admits?: (protocols: readonly string[]) => boolean
}

const here = [{ ServerAddr: '' }, { ServerAddr: '' }]

/** A gateway that names another one, as one of several processes does. */
async function twoGateways(nodes: Nodes = {}) {
  const second = await ScriptedGateway.start({
    ...(nodes.admits && { admits: nodes.admits }),
    auth: ({ ClientId }, count) => {
      const Node = typeof nodes.second === 'function' ? nodes.second(count) : nodes.second
      const Extra = { Cookie: 'two', ConnectAddresses: here, ...(Node && { Node }) }
      return { Version: '3', ClientId, Extra }
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
      const ear = new RecordingSink()
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
        Extra: { Node: `node-${count}`, ConnectAddresses: here },
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

  test('names the process that it does not want, and dials again at once if that one rejects it', async () => {
    const offers: (readonly string[])[] = []
    await using both = await twoGateways({
      first: 'node-1',
      second: 'node-2',
      admits: protocols => offers.push(protocols) > 3,
    })
    // A wait would never end: the attempts are made without one.
    await using agent = disposable(await connect(both.first.options({ retry: { baseMs: 1e9, capMs: 1e9 } })))
    const far = await signedIn(both.second, 0)
    assert.equal(offers.length, 4)
    assert.ok(offers.every(protocols => protocols[1] === elsewhereAlpn('node-1')))
    assert.equal(far.login?.ClientId, agent.sessionId)
    assert.deepEqual(both.first.ends.length, 1)
  })

  test('has its first connection elsewhere too when that is lost and the second one is not', async () => {
    const nodes = ['node-1', 'node-2', 'node-2', 'node-3']
    await using gateway = await ScriptedGateway.start({
      auth: (_, count) => ({
        Version: '3',
        ClientId: 'ts_1',
        Extra: { Node: nodes[count], ConnectAddresses: here },
      }),
    })
    const log = new StatusLog()
    await using agent = disposable(await connect(gateway.options({ onStatus: log.onStatus })))
    const far = await signedIn(gateway, 1)
    const tunnel = await agent.listen({ proto: 'tcp', forwardTo: 1 })
    await gateway.until(() => far.binds[0])
    gateway.ends[0]?.socket.destroy()
    const again = await signedIn(gateway, 3)
    await gateway.until(() => again.binds[0])
    assert.equal(again.login?.Extra.LegNumber, 0)
    assert.equal(again.binds[0]?.Id, tunnel.id)
    assert.deepEqual(gateway.ends[2]?.binds, [])
    assert.equal(far.socket.destroyed, false)
    assert.ok(log.seen.every(({ state }) => state !== 'reconnecting'))
  })

  test('keeps trying to reach another process, with one connection meanwhile', async () => {
    await using both = await twoGateways({
      first: 'node-1',
      second: count => (count < 20 ? 'node-1' : 'node-2'),
    })
    const { first, second } = both
    await using agent = disposable(await connect(first.options({ retry: { baseMs: 1, capMs: 4 } })))
    await signedIn(second, 20)
    assert.equal(agent.status.state, 'online')
    assert.equal(first.ends.length, 1)
  })

  test('gives its second connection up when the gateway has become a single process', async () => {
    let processes = 2
    await using gateway = await ScriptedGateway.start({
      auth: ({ Extra: { LegNumber } }) => ({
        Version: '3',
        ClientId: 'ts_1',
        Extra: {
          Node: processes === 1 ? 'node-0' : `node-${LegNumber}`,
          ...(processes > 1 && { ConnectAddresses: here }),
        },
      }),
    })
    await using agent = disposable(await connect(gateway.options()))
    await signedIn(gateway, 1)
    const tunnel = await agent.listen({ proto: 'tcp', forwardTo: 1 })
    processes = 1
    for (const { socket } of gateway.ends) socket.destroy()
    const later = () => gateway.ends.slice(2)
    const last = await gateway.until(() => later().find(({ binds }) => binds.length > 0))
    assert.equal(last.login?.Extra.LegNumber, 0)
    assert.equal(last.binds[0]?.Id, tunnel.id)
    // What would be a further attempt comes within the cap of the retries.
    await new Promise(resolve => setTimeout(resolve, 100))
    assert.ok(later().filter(({ login }) => login?.Extra.LegNumber === 1).length <= 1)
    assert.equal(agent.status.state, 'online')
  })

  test('opens its second connection when the gateway names another node later, and gives it up with that node', async () => {
    await using second = await ScriptedGateway.start({
      auth: ({ ClientId }) => ({ Version: '3', ClientId, Extra: { Node: 'node-2' } }),
    })
    await using first = await ScriptedGateway.start({
      auth: () => ({ Version: '3', ClientId: 'ts_1', Extra: { Node: 'node-1' } }),
    })
    await using agent = disposable(await connect(first.options({ retry: { baseMs: 1, capMs: 1 } })))
    const near = await signedIn(first, 0)
    const tunnel = await agent.listen({ proto: 'tcp', forwardTo: 1 })
    await near.offer([])
    await near.offer([{ ServerAddr: '' }, { ServerAddr: 'file:///etc/passwd' }])
    await assert.rejects(near.offer(Array.from({ length: 65 }, () => ({ ServerAddr: '' }))), /64/)
    await near.offer([{ ServerAddr: '' }, { ServerAddr: second.address }])
    const far = await signedIn(second, 0)
    assert.equal(far.login?.Extra.LegNumber, 1)
    await second.until(() => far.binds[0])
    assert.equal(far.binds[0]?.Id, tunnel.id)
    // The other node has gone.
    await near.offer([])
    far.socket.destroy()
    await near.offer([])
    assert.equal(second.ends.length, 1)
    assert.equal(agent.status.state, 'online')
  })

  test('takes an offer that is read together with the response to its sign-in', async () => {
    await using second = await ScriptedGateway.start({
      auth: ({ ClientId }) => ({ Version: '3', ClientId, Extra: { Node: 'node-2' } }),
    })
    const early: Promise<void>[] = []
    await using first = await ScriptedGateway.start({
      auth: (_, count) => {
        const offer = [{ ServerAddr: '' }, { ServerAddr: second.address }]
        process.nextTick(() => void early.push(first.ends[count]?.offer(offer) ?? Promise.resolve()))
        return { Version: '3', ClientId: 'ts_1', Extra: { Node: 'node-1' } }
      },
    })
    await using agent = disposable(await connect(first.options()))
    assert.equal((await signedIn(second, 0)).login?.ClientId, agent.sessionId)
    await Promise.all(early)
  })

  test('is content with one connection when what is named is no address', async () => {
    await using gateway = await ScriptedGateway.start({
      auth: () => ({
        Version: '3',
        ClientId: 'ts_1',
        Extra: { ConnectAddresses: [{ ServerAddr: 'x' }, { ServerAddr: 'file:///etc/passwd' }] },
      }),
    })
    await using agent = disposable(await connect(gateway.options({ retry: { baseMs: 1, capMs: 1 } })))
    await agent.listen({ proto: 'tcp', forwardTo: 1 })
    await agent.listen({ proto: 'tcp', forwardTo: 2 })
    assert.equal(agent.status.state, 'online')
    assert.equal(gateway.ends.length, 1)
  })

  test('uses the next server of its list while one cannot be reached', async () => {
    await using gateway = await ScriptedGateway.start()
    const options = gateway.options({ retry: { baseMs: 1, capMs: 1 } })
    await using agent = disposable(await connect({ ...options, server: `127.0.0.1:1, ${options.server}` }))
    assert.equal(agent.status.state, 'online')
  })
})
