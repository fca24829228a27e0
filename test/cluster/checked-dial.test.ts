import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { FirstProcessLink } from '#cluster/first-process-link.ts'
import { checkedDial } from '#cluster/nodes/checked-dial.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import type { ProxyHeader } from '#tunnel/messages.ts'

suite('a connection through a tunnel of a node whose lease is in doubt', () => {
  test('is refused as unsent while no first process can check the lease', async context => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const link = new FirstProcessLink()
    const tunnel = { id: 'tn_1', node: 'nd_1.w1' } as TunnelRecord
    const dial = checkedDial({
      local: { dial: () => assert.fail('the agent was used') },
      tunnels: new Map([[tunnel.id, tunnel]]),
      isCurrent: () => false,
      refresh: () => link.request('refreshLease', null),
    })
    const refused = assert.rejects(dial(tunnel, {} as ProxyHeader, Buffer.alloc(0)), {
      name: 'DialError',
      code: 'offline',
    })
    context.mock.timers.tick(10_000)
    await refused
  })
})
