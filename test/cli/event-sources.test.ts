import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCommand } from '../support/command-host.ts'
import { startServer } from '../support/server.ts'

test('adit api chooses fields and filters of event sources by flags', async () => {
  await using server = await startServer()
  const environment = { ADIT_API_URL: server.api.url, ADIT_DATA_DIR: server.dataDir }
  const adit = (...args: string[]) => runCommand(['api', ...args], environment)
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await adit(...args)
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout)
  }
  const type = 'http_request_complete.v0'
  const filter = 'ev.conn.server_port in [80, 443]'
  const source = { type, fields: ['conn.client_ip', 'tls.version'], filter }

  const { id } = await json('event-subscriptions', 'create', '--sources', JSON.stringify([source]))
  const kept = await json('event-sources', 'get', id, type)
  assert.deepEqual(kept, { ...source, uri: kept.uri })

  const tcp = ['--type', 'tcp_connection_closed.v0', '--fields', 'conn.bytes_in,conn.bytes_out']
  const other = await json('event-sources', 'create', id, ...tcp, '--filter', filter)
  assert.deepEqual(other.fields, ['conn.bytes_in', 'conn.bytes_out'])
  assert.equal(other.filter, filter)

  const plain = await json('event-sources', 'update', id, type, '--fields', '', '--filter', '')
  assert.deepEqual(plain, { type, uri: kept.uri })
  const refused = await adit('event-sources', 'update', id, type, '--filter', 'ev.tls.version == "x"')
  assert.notEqual(refused.code, 0)
  assert.match(refused.stderr, /cannot be filtered by "tls.version".*ERR_ADIT_5406/s)
})
