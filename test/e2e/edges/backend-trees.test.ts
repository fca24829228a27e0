import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { suite, test } from 'node:test'
import { World } from './world.ts'
import { until } from '../../support/until.ts'

const WIDTH = 10

/** What comes back on a connection to a port, to its end. */
async function bytesFrom(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.setEncoding('utf8').on('data', part => (text += String(part)))
  socket.on('error', () => undefined)
  socket.end('ping')
  await new Promise(resolve => socket.once('close', resolve))
  return text
}

/** A level of backends, each of which leads to all of these. */
const level = (world: World, backends: readonly string[]): Promise<string[]> =>
  Promise.all(
    Array.from({ length: WIDTH }, async () => (await world.make('/backends/failover', { backends })).id),
  )

suite('a backend that contains more than 1000 others', () => {
  for (const kind of ['failover', 'weighted'] as const)
    test(`is rejected: ${kind}`, async () => {
      await using world = await World.start()
      const { api } = world.server
      const [first = '', ...rest] = await level(world, [])
      const second = await level(world, [first, ...rest])
      const third = await level(world, second)
      const backends = kind === 'failover' ? third : Object.fromEntries(third.map(id => [id, 1]))
      const made = await api.post(`/backends/${kind}`, { backends })
      assert.deepEqual([made.status, made.body.error_code], [400, 'ERR_ADIT_90231'])
      assert.match(made.body.msg, /more than 1000 others/)
      const empty = await world.make(`/backends/${kind}`, {})
      const changed = await api.patch(`/backends/${kind}/${empty.id}`, { backends })
      assert.deepEqual([changed.status, changed.body.error_code], [400, 'ERR_ADIT_90231'])
    })

  test('after a change below it makes its own endpoints answer 503, and no others', async () => {
    await using world = await World.start()
    const { api } = world.server
    const port = await world.service((_, response) => response.end('served'))
    const leaves = await Promise.all(
      Array.from({ length: WIDTH }, async () => {
        const { id } = await world.make('/backends/static', { address: `127.0.0.1:${port}` })
        return id
      }),
    )
    const low = await level(world, leaves.slice(0, 1))
    const top = await world.make('/backends/failover', { backends: await level(world, low) })
    const backend = { backend_id: top.id }
    const tcp = await world.make('/endpoint_configurations', { type: 'tcp', backend })
    const { addr } = await world.make('/reserved_addrs', { endpoint_configuration_id: tcp.id })
    const tcpPort = Number(String(addr).split(':').at(-1))
    const edge = await world.edge(['deep.example.test'])
    await world.route(edge, '/', top.id)
    const other = await world.edge(['other.example.test'])
    await world.route(other, '/', leaves[0])
    const served = () => world.ask('deep.example.test')
    assert.equal((await until(served, { fits: ({ status }) => status !== 404 })).text, 'served')
    assert.match(await until(() => bytesFrom(tcpPort), { fits: text => text !== '' }), /400 Bad Request/)

    const change = async (backends: readonly string[]) => {
      for (const id of low)
        assert.equal((await api.patch(`/backends/failover/${id}`, { backends })).status, 200)
    }
    await change(leaves)
    const refused = await until(served, { fits: ({ status }) => status !== 200 })
    assert.deepEqual([refused.status, refused.code], [503, 'ERR_ADIT_90043'])
    assert.equal(await bytesFrom(tcpPort), '')
    assert.equal((await world.ask('other.example.test')).text, 'served')
    await change(leaves.slice(0, 1))
    assert.equal((await until(served, { fits: ({ status }) => status === 200 })).text, 'served')
  })
})
