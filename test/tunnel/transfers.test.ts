import assert from 'node:assert/strict'
import { type Duplex, duplexPair } from 'node:stream'
import { suite, test } from 'node:test'
import { MuxSession } from '#tunnel/mux-session.ts'
import { streamQueue, transferBothWays } from './transfer.ts'
import { type SocketPair, tcpPair, tlsPair } from './socket-pairs.ts'

const MIB = 1_048_576

const sockets = ({ accepted, outgoing }: SocketPair): [Duplex, Duplex] => [accepted, outgoing]

suite('a session', () => {
  const links = {
    'a pair of streams': async () => duplexPair(),
    'a loopback socket': async () => sockets(await tcpPair()),
    'a TLS socket': async () => sockets(await tlsPair()),
  }
  for (const [name, link] of Object.entries(links))
    test(`carries large transfers over many streams of ${name} unchanged`, async () => {
      const [near, far] = await link()
      const { accept, next } = streamQueue()
      const gateway = new MuxSession(near, { role: 'server', growTo: MIB })
      const agent = new MuxSession(far, { role: 'client', accept })
      await transferBothWays(gateway, next, [40, 2 * MIB])
      assert.deepEqual([gateway.streams, agent.streams, gateway.unread, agent.unread], [0, 0, 0, 0])
      agent.close()
      assert.equal((await gateway.closed).code, 'remote_gone_away')
    })
})
