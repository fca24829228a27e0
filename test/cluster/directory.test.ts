import assert from 'node:assert/strict'
import { memoryUsage } from 'node:process'
import { after, before, suite, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { silentLog } from '#base/log.ts'
import type { NodeStore, OnlineOutcome } from '#base/node-store.ts'
import { ClusterDirectory } from '#cluster/nodes/cluster-directory.ts'
import { Membership } from '#cluster/nodes/membership.ts'
import { openNodeStore } from '#store/postgres-cluster.ts'
import { openPostgres } from '#store/postgres.ts'
import { StoreError } from '#store/store-error.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { seedTunnels } from './seed-tunnels.ts'
import { sessionRecord, tunnelRecord } from '../support/records.ts'

const TUNNELS = process.env['TEST_LONG'] === undefined ? 5000 : 100_000

/** One node's part in the directory, with the reads that a test may hold back. */
class TestNode implements AsyncDisposable {
  readonly directory: ClusterDirectory
  readonly id: string
  isBlind = false
  /** How the database gets a write, and responds. */
  responds: (write: () => Promise<OnlineOutcome>) => Promise<OnlineOutcome> = write => write()
  /** How many records each write had. */
  readonly written: number[] = []
  readonly #store: NodeStore
  readonly membership: Membership

  constructor(url: string, id: string) {
    const store = openNodeStore(url)
    this.id = id
    this.#store = store
    this.membership = new Membership({ store, id, info: infoOf(id), log: silentLog })
    const unread = (): never => {
      throw new Error('This node does not read now.')
    }
    this.directory = new ClusterDirectory({
      store: {
        write: (node, incarnation, batch) => {
          this.written.push(batch.filter(({ op }) => op.startsWith('put') || op.startsWith('drop')).length)
          return this.responds(() => store.write(node, incarnation, batch))
        },
        snapshot: async reader => (this.isBlind ? unread() : store.snapshot(reader)),
        changes: async (...given) => (this.isBlind ? unread() : store.changes(...given)),
      },
      membership: this.membership,
      log: silentLog,
    })
  }

  static async start(url: string, id: string): Promise<TestNode> {
    const node = new TestNode(url, id)
    await node.membership.start()
    await node.directory.start()
    return node
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.directory[Symbol.asyncDispose]()
    await this.membership.close()
    await this.#store[Symbol.asyncDispose]()
  }
}

const infoOf = (name: string) => ({
  name,
  version: '1',
  region: 'test',
  peer: '127.0.0.1:1',
  publicAddresses: [],
  agentAddresses: [],
  startedAt: '2026-01-01T00:00:00Z',
})

suite('the directory of a cluster', () => {
  let postgres: TestPostgres
  before(async () => {
    postgres = await startPostgres()
  })
  after(() => postgres.stop())

  const newDatabase = async (): Promise<string> => {
    const url = await postgres.newDatabase()
    await (await openPostgres(url))[Symbol.asyncDispose]()
    return url
  }

  test('reads no tunnel but those of a session or a node that goes', async () => {
    const url = await newDatabase()
    const first = await TestNode.start(url, 'nd_first')
    await using second = await TestNode.start(url, 'nd_second')
    const { directory } = second
    for (const [node, session] of [
      [second, 'ts_goes'],
      [second, 'ts_stays'],
      [first, 'ts_elsewhere'],
    ] as const) {
      await node.directory.addSession(sessionRecord({ id: session, node: node.id }))
      for (const id of [`tn_${session}_a`, `tn_${session}_b`])
        await node.directory.addTunnel(
          tunnelRecord({ id, sessionId: session, node: node.id, address: { scheme: 'http', host: id } }),
        )
    }
    await until(() => directory.tunnels.size === 6)
    const all = ['values', 'entries', 'forEach', Symbol.iterator] as const
    for (const records of [directory.tunnels, directory.sessions])
      for (const name of all) Object.assign(records, { [name]: () => assert.fail('all records are read') })
    await directory.removeSession('ts_goes', second.id)
    assert.deepEqual([...directory.tunnels.keys()].toSorted(), [
      'tn_ts_elsewhere_a',
      'tn_ts_elsewhere_b',
      'tn_ts_stays_a',
      'tn_ts_stays_b',
    ])
    await first[Symbol.asyncDispose]()
    await until(() => directory.sessions.size === 1)
    assert.deepEqual([...directory.tunnels.keys()].toSorted(), ['tn_ts_stays_a', 'tn_ts_stays_b'])
  })

  test('wakes all nodes for a change but the one that has written it', async () => {
    const url = await newDatabase()
    await using first = openNodeStore(url)
    await using second = openNodeStore(url)
    const info = JSON.stringify(infoOf('nd_first'))
    const epoch = await first.join({ id: 'nd_first', info, clients: 0 })
    const wakes = [first, second].map(store => {
      const seen: string[] = []
      store.listen(what => void seen.push(what))
      return seen
    })
    // When the store listens, it reports what it may have missed.
    await until(() => wakes.every(seen => seen.includes('resources')))
    for (const seen of wakes) seen.length = 0
    await first.write({ id: 'nd_first', epoch }, undefined, [{ op: 'mark', text: '{"is":"later"}' }])
    await first.notify()
    await until(() => wakes.every(seen => seen.includes('nodes')))
    assert.deepEqual(wakes, [['nodes'], ['directory', 'nodes']])
  })

  test('is swept by one node: the one that serves longest', async () => {
    const url = await newDatabase()
    await using first = await TestNode.start(url, 'nd_x')
    const firsts = (nodes: readonly TestNode[]) => nodes.map(({ membership }) => membership.isFirst)
    {
      await using second = await TestNode.start(url, 'nd_a')
      await until(() => first.membership.nodes.size === 2)
      assert.deepEqual(firsts([first, second]), [true, false])
      await first.membership.drain(first.id)
      await until(() => firsts([first, second]), { fits: now => now.join() === 'false,true' })
    }
    assert.equal(first.membership.isFirst, false)
  })

  test('CLU-11 is read at once, whatever its size, into little memory', async t => {
    const url = await newDatabase()
    await seedTunnels(url, TUNNELS)
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    collect()
    const empty = memoryUsage().heapUsed
    const begun = performance.now()
    await using node = await TestNode.start(url, 'nd_new')
    t.diagnostic(`${TUNNELS} tunnels were read in ${Math.round(performance.now() - begun)} ms`)
    assert.equal(node.directory.tunnels.size, TUNNELS)
    collect()
    const each = (memoryUsage().heapUsed - empty) / TUNNELS
    t.diagnostic(`${Math.round(each)} bytes for each tunnel with its session`)
    assert.ok(each <= 1500, `${each} bytes`)
  })

  test('CLU-08 an address that another node has taken over is never written again by the first one', async () => {
    const url = await newDatabase()
    await using first = await TestNode.start(url, 'nd_first')
    await using second = await TestNode.start(url, 'nd_second')
    const claimOf = ({ id: node }: TestNode) =>
      tunnelRecord({
        id: `tn_${node}`,
        sessionId: `ts_${node}`,
        node,
        address: { scheme: 'http', host: 'contested' },
      })
    const owners: number[] = []
    for (const { directory } of [first, second])
      directory.watch({ added: () => void owners.push(directory.tunnels.size) })
    for (const node of [first, second])
      await node.directory.addSession(sessionRecord({ id: `ts_${node.id}`, node: node.id }))
    assert.deepEqual(await first.directory.addTunnel(claimOf(first)), { ok: true })
    assert.equal((await second.directory.addTunnel(claimOf(second))).ok, false)
    await second.directory.removeSession('ts_nd_first', first.id)
    assert.deepEqual(await second.directory.addTunnel(claimOf(second)), { ok: true })
    first.directory.wake()
    await until(() => first.directory.tunnels.has('tn_nd_second'))
    await second.directory.removeTunnel('tn_nd_second')
    await second.directory.settled()
    first.directory.wake()
    await until(() => first.directory.tunnels.size === 0)
    await postgres.crash()
    // A node grants without the database only what it still has.
    await assert.rejects(first.directory.addTunnel(claimOf(first)))
    await postgres.restart()
    await until(async () => {
      await first.directory.addSession(sessionRecord({ id: 'ts_new', node: first.id }))
      second.directory.wake()
      return second.directory.sessions.has('ts_new')
    })
    for (const { directory } of [first, second]) {
      assert.deepEqual([...directory.tunnels.keys()], [])
      assert.equal(directory.sessions.has('ts_nd_first'), false)
    }
    assert.deepEqual(new Set(owners), new Set([1]))
  })

  test('has all records of a node that writes before it notices that PostgreSQL has lost them', async () => {
    const url = await newDatabase()
    await using first = await TestNode.start(url, 'nd_first')
    await using second = await TestNode.start(url, 'nd_second')
    await first.directory.addSession(sessionRecord({ id: 'ts_kept', node: first.id }))
    await first.directory.addTunnel(tunnelRecord({ id: 'tn_kept', sessionId: 'ts_kept', node: first.id }))
    await until(() => second.directory.tunnels.has('tn_kept'))
    const removed: string[] = []
    for (const { directory } of [first, second])
      directory.watch({ sessionRemoved: ({ id }) => void removed.push(id) })
    first.isBlind = true
    second.isBlind = true
    await postgres.crash()
    await postgres.restart()
    first.isBlind = false
    second.isBlind = false
    await first.directory.addSession(sessionRecord({ id: 'ts_new', node: first.id }))
    await until(() => second.directory.sessions.has('ts_new'))
    assert.deepEqual(removed, [])
    for (const { directory } of [first, second]) assert.ok(directory.tunnels.has('tn_kept'))
  })

  /** Adds sessions at a node all at once. */
  const addSessions = ({ directory, id: node }: TestNode, count: number): Promise<void[]> =>
    Promise.all(
      Array.from({ length: count }, (_, at) => directory.addSession(sessionRecord({ id: `ts_${at}`, node }))),
    )

  const tooLate = () => Promise.reject(new StoreError('unavailable', 'The database server does not respond.'))

  test('a write without a response is written again alone, not with all that the node has', async () => {
    const url = await newDatabase()
    await using first = await TestNode.start(url, 'nd_first')
    await using second = await TestNode.start(url, 'nd_second')
    await addSessions(first, 1200)
    const kept = tunnelRecord({
      id: 'tn_kept',
      sessionId: 'ts_0',
      node: first.id,
      address: { scheme: 'http', host: 'kept.test' },
    })
    await first.directory.addTunnel(kept)
    const announced: string[] = []
    first.directory.watch({
      sessionAdded: ({ id }) => void announced.push(id),
      added: ({ id }) => void announced.push(id),
    })
    first.written.length = 0
    // It is committed, but the node does not hear of it in time.
    first.responds = write => write().then(tooLate)
    const again = first.directory.addTunnel(kept)
    const refused = first.directory.addTunnel(
      tunnelRecord({ id: 'tn_late', sessionId: 'ts_0', node: first.id }),
    )
    const late = first.directory.addSession(sessionRecord({ id: 'ts_late', node: first.id }))
    await assert.rejects(refused)
    await Promise.all([late, again])
    first.responds = write => write()
    await first.directory.addSession(sessionRecord({ id: 'ts_next', node: first.id }))
    assert.deepEqual(first.written, [3, 3, 1])
    // What it has had all the time, and what it reads back, are no changes.
    assert.deepEqual(announced, ['ts_late', 'tn_late', 'ts_next'])
    await until(() => second.directory.sessions.has('ts_next'))
    for (const { directory } of [first, second]) {
      assert.equal(directory.sessions.size, 1202)
      assert.ok(directory.sessions.has('ts_late'))
      assert.equal(directory.tunnels.has('tn_late'), false)
    }
  })

  test('a node that writes all of its records again continues after the page that failed', async () => {
    const url = await newDatabase()
    await using first = await TestNode.start(url, 'nd_first')
    await using second = await TestNode.start(url, 'nd_second')
    await addSessions(first, 1200)
    await until(() => second.directory.sessions.size === 1200)
    const removed: string[] = []
    for (const { directory } of [first, second])
      directory.watch({ sessionRemoved: ({ id }) => void removed.push(id) })
    first.written.length = 0
    first.responds = write => (first.written.length === 2 ? tooLate() : write())
    await using store = openNodeStore(url)
    await store.leave(first.id)
    await first.membership.refresh()
    await until(() => first.written.length >= 4)
    await first.directory.settled()
    assert.deepEqual(first.written, [500, 500, 500, 200])
    await first.directory.addSession(sessionRecord({ id: 'ts_next', node: first.id }))
    await until(() => second.directory.sessions.has('ts_next'))
    await using joined = await TestNode.start(url, 'nd_joined')
    for (const { directory } of [first, second, joined]) assert.equal(directory.sessions.size, 1201)
    assert.deepEqual(removed, [])
  })

  test('CLU-04 a node that joins again may not use its agents before it knows which addresses it has lost', async () => {
    const url = await newDatabase()
    await using first = await TestNode.start(url, 'nd_first')
    await using second = await TestNode.start(url, 'nd_second')
    await first.directory.settled()
    assert.equal(first.membership.isCurrent, true)
    for (const [node, at] of [first, second].entries()) {
      const session = sessionRecord({ id: `ts_${node}`, node: at.id })
      await at.directory.addSession(session)
    }
    const claimOf = (node: TestNode, sessionId: string) =>
      tunnelRecord({
        id: `tn_${sessionId}`,
        sessionId,
        node: node.id,
        address: { scheme: 'http', host: 'moved' },
      })
    assert.deepEqual(await first.directory.addTunnel(claimOf(first, 'ts_0')), { ok: true })
    first.isBlind = true
    await using store = openNodeStore(url)
    await store.leave(first.id)
    await second.membership.refresh()
    assert.deepEqual(await second.directory.addTunnel(claimOf(second, 'ts_1')), { ok: true })
    const writing = Promise.withResolvers<void>()
    const written = Promise.withResolvers<void>()
    first.responds = async write => {
      writing.resolve()
      await written.promise
      return write()
    }
    const lost: string[] = []
    first.directory.onLost(({ id }) => void lost.push(id))
    await first.membership.refresh()
    await writing.promise
    const isCurrentBefore = first.membership.isCurrent
    first.isBlind = false
    written.resolve()
    await first.directory.settled()
    assert.equal(isCurrentBefore, false)
    assert.equal(first.membership.isCurrent, true)
    assert.deepEqual(lost, ['tn_ts_0'])
    assert.equal(first.directory.tunnels.has('tn_ts_0'), false)
  })

  test('records that a node has not written again yet are kept by those that read all meanwhile', async () => {
    const url = await newDatabase()
    await using first = await TestNode.start(url, 'nd_first')
    await using second = await TestNode.start(url, 'nd_second')
    await addSessions(first, 1200)
    await until(() => second.directory.sessions.size === 1200)
    const removed: string[] = []
    second.directory.watch({ sessionRemoved: ({ id }) => void removed.push(id) })
    second.isBlind = true
    const paused = Promise.withResolvers<void>()
    const read = Promise.withResolvers<void>()
    first.responds = async write => {
      const outcome = await write()
      if (outcome.is !== 'written') return outcome
      paused.resolve()
      await read.promise
      return outcome
    }
    await postgres.crash()
    await postgres.restart()
    // It goes before all have written, so that it is not written again.
    await first.directory.removeSession('ts_1199', first.id)
    first.directory.wake()
    await paused.promise
    second.isBlind = false
    await second.directory.addSession(sessionRecord({ id: 'ts_other', node: second.id }))
    assert.equal(second.directory.sessions.size, 1201)
    assert.deepEqual(removed, [])
    read.resolve()
    await until(() => second.directory.sessions.size === 1200)
    assert.deepEqual(removed, ['ts_1199'])
  })

  test('a node keeps what it has when a later version writes changes of kinds that it does not know', async () => {
    const url = await newDatabase()
    await using node = await TestNode.start(url, 'nd_this')
    await node.directory.addSession(sessionRecord({ id: 'ts_this', node: node.id }))
    const tunnelOf = (id: string) =>
      tunnelRecord({ id, sessionId: 'ts_this', node: node.id, address: { scheme: 'http', host: id } })
    await node.directory.addTunnel(tunnelOf('tn_this'))
    await using later = openNodeStore(url)
    const field = { later: ['a field'] }
    const info = JSON.stringify({ ...infoOf('nd_later'), ...field })
    const epoch = await later.join({ id: 'nd_later', info, clients: 0 })
    const from = { node: 'nd_later', epoch, ...field }
    const record = { ...sessionRecord({ id: 'ts_later', node: 'nd_later' }), ...field }
    const unknown = [
      { ...from, is: 'later', id: 'tn_this' },
      { ...from, is: 'later', id: 'tn_this', node: node.id, by: 'nd_later' },
      { ...from, is: 'later', record: { id: 'tn_this' } },
      { is: 'later' },
    ]
    const { incarnation = '' } = await later.snapshot({ session: () => undefined, tunnel: () => undefined })
    await later.write({ id: 'nd_later', epoch }, incarnation, [
      ...unknown.map(change => ({ op: 'mark' as const, text: JSON.stringify(change) })),
      {
        op: 'put_session',
        id: record.id,
        body: JSON.stringify(record),
        text: JSON.stringify({ ...from, is: 'session', record }),
      },
    ])
    node.directory.wake()
    await until(() => node.directory.sessions.has('ts_later'))
    assert.ok(node.directory.tunnels.has('tn_this'))
    // The node joins again, and writes all that it has.
    await later.leave(node.id)
    await node.membership.refresh()
    await node.directory.addTunnel(tunnelOf('tn_next'))
    await using joined = await TestNode.start(url, 'nd_joined')
    for (const { directory } of [node, joined])
      assert.deepEqual([...directory.tunnels.keys()].toSorted(), ['tn_next', 'tn_this'])
    assert.ok(joined.directory.sessions.has('ts_later'))
  })
})
