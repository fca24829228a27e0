import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { TunnelRecord } from '#registry/directory.ts'
import { dialAgent } from '#gateway/agents/agent-dial.ts'
import type { ProxyHeader } from '#tunnel/messages.ts'
import { sessionWithPeer } from '../../tunnel/support.ts'

/** What one client may have of the connections of an agent of another make, while it is alone. */
const SHARE = 240

suite('a connection through an agent', () => {
  test(
    'is not waited for without end by a client that has its share',
    { timeout: 120_000 },
    async context => {
      context.mock.timers.enable({ apis: ['setTimeout'] })
      const { session } = sessionWithPeer({ role: 'server' })
      const tunnel = { id: 'tn_1' } as TunnelRecord
      const header = { ClientAddr: '203.0.113.7:4000' } as ProxyHeader
      const dial = (): Promise<unknown> =>
        dialAgent(session, { tunnel, header, first: Buffer.alloc(0), retries: false })
      await Promise.all(Array.from({ length: SHARE }, dial))
      const waiting = dial()
      await new Promise(setImmediate)
      assert.equal(session.streams, SHARE)
      context.mock.timers.tick(10_000)
      await assert.rejects(waiting, { name: 'DialError', code: 'busy' })
      session.close()
    },
  )
})
