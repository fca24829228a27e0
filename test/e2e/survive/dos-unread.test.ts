import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { suite, test } from 'node:test'
import { isLongRun, PeakMemory, reportFigures, sleep } from './measurements.ts'
import { ShortRequests } from './short-requests.ts'
import { addresses, attacks } from './unread-connections.ts'
import { World } from './world.ts'
import { steady, until } from '../../support/until.ts'

const RATE = 20
// Fewer than the connections that the attackers leave: a slow machine must not take these with honest requests alone.
const AT_ONCE = 20
const LASTS_MS = 75_000

/** A short run has every attack and every number of addresses, but not each with each. */
const inShortRun: Readonly<Record<string, readonly number[]>> = {
  'streams of HTTP/2 without a window': [1, 20],
  'answers of HTTP/1 that are not read': [1],
  'uploads that stop': [20],
  'WebSockets that say nothing': [1],
}
const skipped = (name: string, count: number) => ({
  skip: !isLongRun && inShortRun[name]?.includes(count) === false && 'only in long runs: set TEST_LONG',
})

async function streamsOf({ gateway }: World): Promise<number> {
  const { url, token } = gateway.api
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
  return Number(/^adit_tunnel_streams (\d+)/m.exec(await response.text())?.[1])
}

suite('clients that open all connections of an agent and do not read', { timeout: 1_200_000 }, () => {
  for (const [name, { attack, connections }] of Object.entries(attacks))
    for (const count of [1, 20])
      test(
        `${name}, from ${count} addresses, do not block other clients`,
        skipped(name, count),
        async context => {
          await using world = await World.start({ agent: 'adit' })
          using memory = new PeakMemory(world.pid)
          const from = addresses(count)
          const sockets: Socket[] = []
          for (let at = 0; at < connections; at++)
            sockets.push(await attack(world, from[at % from.length] ?? ''))
          // The attackers have what they can get.
          const streams = await steady(() => streamsOf(world), 500)
          await using shorts = new ShortRequests(world)
          shorts.start(RATE, AT_ONCE)
          if (isLongRun) await sleep(LASTS_MS)
          await until(() => shorts.answered > 2 * RATE)
          await shorts.stop()
          sockets.forEach(socket => socket.destroy())
          reportFigures(context, {
            connections,
            streams,
            answered: shorts.answered,
            failed: shorts.failures.length,
            'honest p99 ms': shorts.p99,
            'memory +KiB': memory.growth,
          })
          world.assertAlive()
          assert.ok(streams > 400, `only ${streams} streams were taken`)
          assert.deepEqual(shorts.failures, [])
          assert.ok(shorts.answered > 0)
          // How quick the others are answered depends on what else the machine does; it is judged in long runs.
          if (isLongRun) assert.ok(shorts.p99 < 250, `p99 ${shorts.p99} ms`)
        },
      )
})
