import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { World } from '../../e2e/edges/world.ts'
import { newFolder } from '../../support/folder.ts'
import { startPostgres, type TestPostgres } from '../../support/postgres.ts'
import { spawnServer, type Caller, type Process } from '../../support/server.ts'
import { until } from '../../support/until.ts'

/** Clients of a server that runs in its own process. */
const worldOf = (process: Process, dataDir: string): World =>
  new World({ ...process, dataDir, authtoken: '', [Symbol.asyncDispose]: async () => undefined })

async function makeEdge(world: World, name: string): Promise<void> {
  await world.route(await world.edge([name]), '/', await world.fixedResponse('hello'))
}

async function visit(world: World, name: string, times: number): Promise<void> {
  for (let time = 0; time < times; time++)
    // Another process follows the changes within seconds.
    await until(async () => (await world.ask(name)).status === 200)
}

const requestsAt = async (api: Caller, window = '1h'): Promise<number> =>
  (await api.get(`/usage?window=${window}`)).body.total.requests

const sees = (api: Caller, requests: number): Promise<number> =>
  until(() => requestsAt(api), { fits: found => found === requests })

suite('usage after a restart', () => {
  test('is complete after a stop, and has what was stored after a kill', async () => {
    const dataDir = newFolder()
    let server = await spawnServer(dataDir)
    let world = worldOf(server, dataDir)
    await makeEdge(world, 'restart.example.test')
    await visit(world, 'restart.example.test', 3)
    await server.end('SIGTERM')

    server = await spawnServer(dataDir)
    world = worldOf(server, dataDir)
    for (const window of ['1h', '24h', '30d', '1y'])
      assert.equal(await requestsAt(server.api, window), 3, window)
    await visit(world, 'restart.example.test', 2)
    await sees(server.api, 5)
    await server.end('SIGKILL')

    server = await spawnServer(dataDir)
    assert.equal(await requestsAt(server.api), 5)
    await server.end('SIGTERM')
  })
})

suite('usage of two servers on one database', () => {
  let postgres: TestPostgres
  before(async () => {
    postgres = await startPostgres()
  })
  after(() => postgres.stop())

  test('is the sum of both, also of their workers', async () => {
    const database_url = await postgres.newDatabase()
    const master_key = Buffer.alloc(32, 7).toString('base64')
    await using one = await World.start({ database_url, master_key, workers: '2' })
    const { dataDir, api } = one.server
    const second = await spawnServer(dataDir, {
      ADIT_DATABASE_URL: database_url,
      ADIT_MASTER_KEY: master_key,
    })
    const other = worldOf(second, dataDir)
    await makeEdge(one, 'both.example.test')
    await visit(other, 'both.example.test', 1)
    await sees(second.api, 1)
    // At the same time, so that both write to the same rows.
    const rounds = Array.from({ length: 4 }, () =>
      Promise.all([visit(one, 'both.example.test', 5), visit(other, 'both.example.test', 5)]),
    )
    await Promise.all(rounds)
    await Promise.all([sees(api, 41), sees(second.api, 41)])
    await visit(other, 'both.example.test', 4)
    await second.end('SIGTERM')
    assert.equal(await requestsAt(api), 45, 'a server that stops stores what it has counted')
    const { series } = (await api.get('/usage?window=1h')).body
    assert.deepEqual(
      series.map((each: { name: string; requests: number }) => [each.name, each.requests]),
      [['https://both.example.test', 45]],
    )
  })
})
