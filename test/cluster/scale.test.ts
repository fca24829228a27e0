import assert from 'node:assert/strict'
import { once } from 'node:events'
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import pg from 'pg'
import { migrations } from '#store/migrations.ts'
import { newFolder } from '../support/folder.ts'
import { until } from '../support/until.ts'
import { nodesOf, SOON, TestCluster, untilStates } from './cluster.ts'
import { idOf, load, serveEverywhere, untilTwoConnections } from './load.ts'
import { SEED, seedTunnels } from './seed-tunnels.ts'

const LONG = process.env['TEST_LONG'] !== undefined
const TUNNELS = LONG ? 100_000 : 5000
const OLDER = '0.0.9'
/** The program of an earlier version, as far as the others see. */
function olderProgram(): { readonly path: string } & Disposable {
  const root = join(import.meta.dirname, '../..')
  const folder = newFolder()
  // Without the builder of bundles, so that it runs from its sources and leaves no bundle behind.
  for (const part of ['src', 'bin', 'scripts/package', 'package-lock.json'])
    cpSync(join(root, part), join(folder, part), { recursive: true })
  const metadata = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, unknown>
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...metadata, version: OLDER }))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return { path: join(folder, 'bin/adit'), [Symbol.dispose]: () => rmSync(folder, { recursive: true }) }
}

suite('a cluster that grows and changes', () => {
  let cluster: TestCluster
  before(async () => {
    cluster = await TestCluster.empty()
    await cluster.add()
  })
  after(() => cluster[Symbol.asyncDispose]())

  test('CLU-12 a node of the version before works beside one of this version', async () => {
    const client = new pg.Client({ connectionString: cluster.database })
    await client.connect()
    // A migration of the newer version, which the older program does not know.
    await client.query(`INSERT INTO migration (version, checksum) VALUES (1000, 'later')`)
    await client.query(`INSERT INTO meta (key, value) VALUES ('schema_1000_compatible_from', $1)`, [
      String(migrations.length),
    ])
    await client.end()
    using older = olderProgram()
    const [newer, old] = [cluster.first, await cluster.add(undefined, {}, older.path)]
    for (const node of cluster.nodes) await untilStates(node, ['live', 'live'])
    for (const node of cluster.nodes)
      assert.deepEqual((await nodesOf(node)).map(({ version }) => version).toSorted(), [OLDER, '0.1.0'])
    await using served = await serveEverywhere(cluster, [old, newer])
    const { body } = await old.process.api.post('/credentials', {})
    await until(async () => (await newer.process.api.get(`/credentials/${body.id}`)).status === 200)
    await using requests = load([newer, newer], served)
    const exited = once(old.process.child, 'exit')
    assert.equal((await newer.process.api.post(`/nodes/${await idOf(old, newer)}/drain`)).status, 204)
    assert.deepEqual(await exited, [0, null])
    cluster.nodes.splice(1, 1)
    const { sent, failed } = await requests.stop()
    assert.deepEqual(failed, [], `of ${sent}`)
  })

  test('an agent that signed in at the only node connects to one that joins later', async () => {
    await using agent = await cluster.connect([cluster.first])
    await agent.listen({ forwardTo: 1, proto: 'http' })
    const joined = await cluster.add()
    await untilTwoConnections(cluster)
    await until(() => nodesOf(joined), {
      what: 'both nodes have the tunnel',
      withinMs: SOON,
      fits: nodes => nodes.filter(({ tunnels, state }) => tunnels === 1 && state === 'live').length === 2,
    })
    await agent.close()
    assert.equal(await cluster.end(joined, 'SIGTERM'), 0)
  })

  test('CLU-11 a node starts beside many tunnels, and lists them', async t => {
    await seedTunnels(cluster.database, TUNNELS)
    const begun = performance.now()
    const node = await cluster.add()
    t.diagnostic(`started in ${Math.round(performance.now() - begun)} ms beside ${TUNNELS} tunnels`)
    for (const each of [node, cluster.first])
      await until(() => nodesOf(each), {
        withinMs: SOON,
        fits: nodes => nodes.some(({ id, tunnels }) => id === SEED && tunnels === TUNNELS),
      })
  })
})
