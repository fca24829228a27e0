import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { after, before, suite, test } from 'node:test'
import { type ErrorName, Problem } from '#base/errors.ts'
import { anyObject } from '#base/json-fields.ts'
import { callPeer } from '#gateway/cluster-links/peer-calls.ts'
import { PeerLinks } from '#gateway/cluster-links/peer-links.ts'
import { SocketFiles } from '#gateway/cluster-links/peer-transport.ts'
import { fromDuplex } from '#tunnel/from-duplex.ts'
import { MuxSession } from '#tunnel/mux-session.ts'
import { encodeProxyHeader } from '#tunnel/proxy-header.ts'
import { call } from '#tunnel/rpc.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import { tunnelRecord } from '../../support/records.ts'
import { testLog } from '../../support/secrets.ts'

const UNKNOWN_TYPE = 4711
const tunnel = tunnelRecord({ node: 'this' })

suite('a link with a process of a later version', () => {
  const folder = mkdtempSync(join(tmpdir(), 'adit-peers-'))
  const files = new SocketFiles('this', node => join(folder, node))
  const links = new PeerLinks({
    node: 'this',
    tunnels: new Map([[tunnel.id, tunnel]]),
    transports: [files],
    transportTo: () => files,
    local: { dial: async () => fromDuplex(new PassThrough()) },
    methods: () => ({
      double: async ({ value }: { value: number }) => 2 * value,
      fail: () => Promise.reject(laterProblem()),
    }),
    log: testLog(),
  })
  let link: MuxSession
  before(async () => {
    await links.listen()
    link = new MuxSession(connect(join(folder, 'this')), { role: 'server' })
  })
  after(async () => {
    link.close()
    await links.close()
    rmSync(folder, { recursive: true })
  })

  const double = (): Promise<number> => callPeer<number>(link, 'double', { value: 2, later: [1] })

  test('refuses streams of unknown types, and stays open', async () => {
    const stream = await link.open(UNKNOWN_TYPE, Buffer.from('{}'))
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    stream.attach({ data: () => undefined, end: () => undefined, closed: error => resolve(error?.code) })
    assert.equal(await promise, 'stream_refused')
    assert.equal(await double(), 4)
  })

  test('answers an unknown method with an error, and stays open', async () => {
    for (const method of ['later', 'constructor'])
      await assert.rejects(callPeer(link, method, {}), { message: `There is no method ${method}.` })
    assert.equal(await double(), 4)
  })

  test('ignores fields of a call that it does not know', async () => {
    const request = { method: 'double', argument: { value: 3, later: 1 }, later: { field: 1 } }
    const answer = await call(link, { type: streamTypes.peerCall, request, answer: anyObject })
    assert.deepEqual(answer, { result: 6 })
  })

  test('ignores fields of the header of a connection that it does not know', async () => {
    const header = {
      Id: tunnel.id,
      ClientAddr: '192.0.2.1:1',
      Proto: 'http',
      EdgeType: '0',
      PassthroughTLS: false,
      Later: { field: 1 },
    }
    const stream = await link.open(streamTypes.forward, encodeProxyHeader(header))
    const { promise, resolve } = Promise.withResolvers<Buffer>()
    stream.attach({ data: resolve, end: () => undefined, closed: () => undefined })
    assert.deepEqual(await promise, Buffer.of(1))
    stream.abort()
  })

  test('rejects a call with an error whose name it does not know', async () => {
    await assert.rejects(callPeer(link, 'fail', {}), {
      name: 'Error',
      message: 'The other process reports the error later_name.',
    })
  })
})

/** An error of the catalogue of a later version. */
function laterProblem(): Problem {
  const problem = new Problem('cluster_unavailable', {})
  return Object.assign(problem, { code: 'later_name' as ErrorName })
}
