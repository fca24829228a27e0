import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { newFolder } from '../support/folder.ts'
import { spawnServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { SOON, TestCluster } from './cluster.ts'

/** A server on the database of a cluster that has no listener for the other nodes. */
suite('a server that has not joined the cluster of its database', () => {
  let cluster: TestCluster

  before(async () => void (cluster = await TestCluster.start(1)))
  after(() => cluster[Symbol.asyncDispose]())

  function serve(more: Record<string, string> = {}) {
    const folder = newFolder()
    for (const file of ['master.key', 'api-key']) cpSync(join(cluster.first.folder, file), join(folder, file))
    return spawnServer(folder, { ADIT_DATABASE_URL: cluster.database, ...more })
  }

  test('says so at its start', async () => {
    const server = await serve()
    const output = await until(() => Promise.resolve(server.output()), {
      what: 'the end of the welcome',
      withinMs: SOON,
      fits: text => text.includes('Press Ctrl-C to stop'),
    })
    await server.end('SIGTERM')
    assert.match(output, /Note: .*1 node of a cluster.*ADIT_PEER_ADDR/)
  })

  test('does not start with an address for other nodes that they could not reach', async () => {
    const started = serve({ ADIT_PEER_URL: '127.0.0.1:4500' }).then(server => server.end('SIGKILL'))
    await assert.rejects(started, /ADIT_PEER_URL .* ADIT_PEER_ADDR/)
  })
})
