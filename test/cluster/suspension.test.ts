import assert from 'node:assert/strict'
import { mock, suite, test } from 'node:test'
import { silentLog } from '#base/log.ts'
import type { NodeStore, Renewal } from '#base/node-store.ts'
import { LEASE_MS, Membership } from '#cluster/nodes/membership.ts'

const info = {
  name: 'a',
  version: '0',
  region: 'us',
  peer: 'a:1',
  publicAddresses: [],
  agentAddresses: [],
  startedAt: '2026-01-31T12:00:00Z',
}

/** A member whose clock and renewals a test decides. */
class Suspended implements AsyncDisposable {
  #now = 0
  readonly #clock = mock.method(performance, 'now', () => this.#now)
  #attempts: (() => Promise<Renewal>)[] = []
  /** Whether it took itself for the owner of what it has, at each attempt. */
  readonly wasCurrent: boolean[] = []
  readonly membership: Membership

  constructor() {
    const store: Pick<NodeStore, 'join' | 'renew' | 'leave' | 'drain' | 'sweep' | 'notify'> = {
      join: async () => 1,
      renew: async () => {
        this.wasCurrent.push(this.membership.isCurrent)
        return (this.#attempts.shift() ?? this.renewed)()
      },
      leave: async () => undefined,
      drain: async () => true,
      sweep: async () => undefined,
      notify: async () => undefined,
    }
    this.membership = new Membership({ store, id: 'a', info, log: silentLog, renewMs: 1_000_000 })
  }

  readonly renewed = async (): Promise<Renewal> => ({ isRenewed: true, nodes: [] })

  /** A query that is under way when the process is suspended is too late when it continues. */
  readonly suspended = async (): Promise<never> => {
    this.#now += LEASE_MS + 1000
    throw new Error('Query read timeout')
  }

  readonly unreachable = async (): Promise<never> => {
    throw new Error('connect ECONNREFUSED')
  }

  /** It has joined, and its directory is complete. */
  async start(): Promise<void> {
    await this.membership.start()
    this.membership.confirm(this.membership.epoch)
  }

  async attempt(...attempts: (() => Promise<Renewal>)[]): Promise<void> {
    this.#attempts = attempts
    this.wasCurrent.length = 0
    await this.membership.refresh()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.membership.close()
    this.#clock.mock.restore()
  }
}

suite('a node that was suspended during a renewal of its lease', () => {
  test('does not take the late query for an outage: another node may own its addresses', async () => {
    await using node = new Suspended()
    await node.start()
    await node.attempt(node.suspended, node.renewed)
    assert.deepEqual([node.wasCurrent, node.membership.isFailing], [[true, false], false])
    assert.equal(node.membership.isCurrent, true)
  })

  test('serves what it has if the database is unreachable afterwards, too', async () => {
    await using node = new Suspended()
    await node.start()
    await node.attempt(node.suspended, node.unreachable)
    assert.deepEqual([node.wasCurrent, node.membership.isFailing], [[true, false], true])
    assert.equal(node.membership.isCurrent, true)
  })
})
