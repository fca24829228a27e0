import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { suite, test } from 'node:test'
import { newId } from '#base/ids.ts'
import { Admission } from '#gateway/listeners/admission.ts'
import { TcpPorts } from '#gateway/listeners/tcp.ts'
import { TcpPortReconciler } from '#gateway/routing/tcp-port-reconciler.ts'
import type { TestAgent } from '../agents/support.ts'
import { group, startRouter, toBackend } from './support.ts'

async function startPorts() {
  const plan = await startRouter()
  const { gateway, router } = plan
  const ports = new TcpPorts({ admission: new Admission(), log: gateway.log, host: '127.0.0.1' })
  const keeper = new TcpPortReconciler({ ...gateway, router, ports })
  return {
    ...plan,
    ports,
    keeper,
    async [Symbol.asyncDispose]() {
      keeper.close()
      await ports.drain(0)
      await plan[Symbol.asyncDispose]()
    },
  }
}

/** An echo service. */
function echo(agent: TestAgent): void {
  agent.onProxied = stream =>
    stream.attach({
      data: bytes => void stream.write(Buffer.from(bytes)),
      end: () => stream.end(),
      closed: () => undefined,
    })
}

async function say(socket: Socket, text: string): Promise<string> {
  socket.write(text)
  const [received] = (await once(socket, 'data')) as [Buffer]
  return received.toString()
}

const portOf = (url: string): number => Number(url.split(':').at(-1))

suite('a TCP port', () => {
  test('is open while a tunnel has it', async () => {
    await using world = await startPorts()
    const agent = await world.agent()
    echo(agent)
    const { Id, URL: url } = await agent.bind('tcp')
    await world.keeper.settled()
    const socket = connect(portOf(url), '127.0.0.1')
    assert.equal(await say(socket, 'hello'), 'hello')
    await agent.unbind(Id)
    await world.keeper.settled()
    assert.deepEqual(world.ports.ports, [])
    // Pending requests continue.
    assert.equal(await say(socket, 'again'), 'again')
    socket.destroy()
    await assert.rejects(once(connect(portOf(url), '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' })
  })

  test('stays open while its tunnel is changed', async () => {
    await using world = await startPorts()
    const agent = await world.agent()
    echo(agent)
    const { Id, URL: url } = await agent.bind('tcp')
    await world.keeper.settled()
    await agent.patch({ TunnelId: Id, Metadata: 'changed' })
    await world.keeper.settled()
    assert.deepEqual(world.ports.ports, [portOf(url)])
    const socket = connect(portOf(url), '127.0.0.1')
    assert.equal(await say(socket, 'hello'), 'hello')
    socket.destroy()
  })

  test('is open while an edge has it', async () => {
    await using world = await startPorts()
    const agent = await world.agent()
    echo(agent)
    await agent.label({ app: 'a' })
    const free = await agent.bind('tcp')
    const port = portOf(free.URL)
    await agent.unbind(free.Id)
    const edge = newId('edgtcp')
    const body = { hostports: [`x.test:${port}`], ...toBackend(group(world.source, { app: 'a' })) }
    world.source.put('tcp_edge', edge, body)
    await world.keeper.settled()
    const socket = connect(port, '127.0.0.1')
    assert.equal(await say(socket, 'hello'), 'hello')
    socket.destroy()
    world.source.remove(edge)
    await world.keeper.settled()
    assert.deepEqual(world.ports.ports, [])
  })
})
