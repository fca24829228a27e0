import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import ngrok from '@ngrok/ngrok'
import type { Connection } from '#gateway/fleet.ts'
import { startPlan, visit } from '../plan/support.ts'
import { until } from './support.ts'

test('the official SDK connects, serves, is told why it is refused, and returns with all its tunnels', async () => {
  await using plan = await startPlan()
  const { gateway, router, source } = plan
  const { directory, sessions } = gateway
  const folder = mkdtempSync(join(tmpdir(), 'adit-sdk-'))
  const roots = join(folder, 'ca.pem')
  writeFileSync(roots, gateway.rootPem)
  const service = createServer((request, response) => response.end(`hello ${request.url}`))
  service.listen(0, '127.0.0.1')
  await once(service, 'listening')
  const upstream = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
  const connect = (token: string) =>
    new ngrok.SessionBuilder()
      .authtoken(token)
      .serverAddr(`localhost:${gateway.port}`)
      .rootCas(roots)
      .connect()

  await assert.rejects(connect('no such token'), { errorCode: 'ERR_NGROK_105' })
  await assert.rejects(connect('no-such-token'), { errorCode: 'ERR_NGROK_107' })

  // The connection is caught on its way in, so that it can be cut below.
  const connections: Connection[] = []
  const add = sessions.add.bind(sessions)
  sessions.add = (record, connection) => {
    connections.push(connection)
    return add(record, connection)
  }
  const session = await connect(source.credential().token)
  const guarded = session.httpEndpoint().domain('mine.adit.localhost').basicAuth('user', 'password')
  assert.equal((await guarded.listenAndForward(upstream)).url(), 'https://mine.adit.localhost:8443')
  const open = await session.httpEndpoint().listenAndForward(upstream)
  const host = new URL(open.url() ?? '').hostname
  await session.tcpEndpoint().listenAndForward(upstream.replace('http', 'tcp'))
  await session.labeledListener().label('app', 'a').listenAndForward(upstream)
  await assert.rejects(session.httpEndpoint().compression().listen(), { errorCode: 'ERR_NGROK_90058' })

  const isServed = async () => {
    assert.equal((await visit(router, `${host}/x`)).text, 'hello /x')
    assert.equal((await visit(router, 'mine.adit.localhost/')).status, 401)
  }
  await isServed()
  const online = () => [...directory.sessions.keys(), ...directory.tunnels.keys()].toSorted()
  const before = online()
  assert.equal(before.length, 5)
  connections[0]?.close('a test')
  await until('it has come back', () => connections.length === 2 && directory.tunnels.size === 4)
  assert.deepEqual(online(), before)
  await isServed()

  const [id = ''] = directory.sessions.keys()
  await assert.rejects(sessions.command(id, 'stop'), { code: 'stop_unsupported' })
  await open.close()
  await until('the tunnel has gone', () => directory.tunnels.size === 3)
  await session.close()
  service.close()
  rmSync(folder, { recursive: true })
})
