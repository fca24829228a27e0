import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { suite, test } from 'node:test'
import { TestAgent, type Gateway } from '../../gateway/agents/support.ts'
import { isLongRun, PeakMemory, reportFigures, sleep } from './measurements.ts'
import { mutant, randomNumbers, sshMutant } from './mutants.ts'
import { ShortRequests } from './short-requests.ts'
import { World } from './world.ts'
import { until } from '../../support/until.ts'
import { closed } from '../../support/net.ts'

const MUTANTS = isLongRun ? 1_000_000 : 2000
/** A program grows until its code is compiled and its heap has found its size; a leak grows after that, too. */
const WARM_UP = isLongRun ? 50_000 : 0
const PER_CONNECTION = 8
const AT_ONCE = 10
const SEED = 20_261

/** One that has signed in and then goes mad. */
async function member(world: World): Promise<Socket> {
  const gateway = { port: world.port('agent'), rootPem: world.ca } as Gateway
  const agent = await TestAgent.signIn(gateway, world.authtoken)
  void agent.session.closed.catch(() => undefined)
  return agent.socket
}

/** Says some of it, gives the gateway a moment to be hurt, and goes. */
async function torment(socket: Socket, messages: readonly Buffer[]): Promise<void> {
  socket.on('error', () => undefined)
  socket.resume()
  for (const message of messages) {
    if (socket.destroyed) return
    await new Promise<void>(resolve => socket.write(message, () => resolve()))
  }
  await Promise.race([closed(socket), sleep(20)])
  socket.destroy()
}

suite('invalid input', { timeout: 3_600_000 }, () => {
  test('from an agent closes its connection, and nothing else', async context => {
    await using world = await World.start()
    await using shorts = new ShortRequests(world)
    shorts.start(50)
    await until(() => shorts.answered > 50)
    const pick = randomNumbers(SEED)
    const begun = performance.now()
    let sent = 0
    const one = async (at: number): Promise<void> => {
      const socket = await (at % 2 === 0 ? world.agentSocket() : member(world))
      const messages = Array.from({ length: PER_CONNECTION }, () => mutant(pick))
      sent += messages.length
      await torment(socket, messages)
    }
    const send = async (total: number): Promise<void> => {
      for (let at = 0; sent < total; at += AT_ONCE)
        await Promise.all(Array.from({ length: AT_ONCE }, (_, more) => one(at + more)))
    }
    await send(WARM_UP)
    using memory = new PeakMemory(world.pid)
    await send(MUTANTS)
    const growth = memory.growth
    await shorts.stop()
    reportFigures(context, {
      seed: SEED,
      mutants: sent,
      connections: sent / PER_CONNECTION,
      ms: Math.round(performance.now() - begun),
      'memory +KiB': growth,
      'honest p99 ms': shorts.p99,
    })
    world.assertAlive()
    assert.deepEqual(shorts.failures, [])
    assert.ok(growth < 64 * 1024, `memory grew by ${growth} KiB`)
  })

  test('from an ssh client does the same', async context => {
    await using world = await World.start()
    await using shorts = new ShortRequests(world)
    shorts.start(20)
    const pick = randomNumbers(SEED)
    using memory = new PeakMemory(world.pid)
    const count = isLongRun ? 10_000 : 200
    for (let at = 0; at < count; at++) {
      const socket = connectTcp({ port: world.port('ssh'), host: '127.0.0.1' })
      socket.on('error', () => undefined)
      await Promise.race([once(socket, 'connect').catch(() => undefined), closed(socket)])
      await torment(socket, [sshMutant(pick)])
    }
    await shorts.stop()
    reportFigures(context, { connections: count, 'memory +KiB': memory.growth, 'honest p99 ms': shorts.p99 })
    world.assertAlive()
    assert.deepEqual(shorts.failures, [])
    assert.ok(memory.growth < 64 * 1024, `memory grew by ${memory.growth} KiB`)
  })
})
