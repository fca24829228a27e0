import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { suite, test } from 'node:test'
import { AgentProcess, GatewayProcess } from './agent-support.ts'
import { VirtualCable } from './agent-support-network.ts'
import type { LossDirection } from './agent-support-relay.ts'
import { isLongRun, reportFigures, sleep } from './measurements.ts'
import { until } from '../../support/until.ts'

// Heartbeats every 5 s, and 10 s of silence. An end that still receives gets the last heartbeat of the other 5 s after the loss
// began. A little more for the timers of a machine that has other work too.
const NOTICED_MS = isLongRun ? 15_000 + 1000 : 60_000
const GONE_MS = isLongRun ? 20_000 : 60_000
// A connection that is being made when packets pass again is given up after 10 s at most.
const BACK_MS = isLongRun ? 15_000 : 120_000
const AGENT_PORT = 14_443

const missing = ['/usr/sbin/ip', '/usr/sbin/nft'].filter(path => !existsSync(path))
const skip =
  (!isLongRun && 'each loss takes its time') ||
  (process.getuid?.() !== 0 && 'namespaces and packet filters need root') ||
  (missing.length > 0 && `${missing.join(' and ')} of iproute2 and nftables are missing`)

interface Listed {
  readonly id: string
  readonly public_url: string
  readonly tunnel_session: { readonly id: string }
}

suite('silently dropped packets', { skip }, () => {
  for (const lost of ['both', 'to gateway', 'to agent'] satisfies LossDirection[]) {
    test(`are detected by both ends in 15 s: ${lost}`, async context => {
      using cable = new VirtualCable()
      await using gateway = await GatewayProcess.start({ ADIT_AGENT_ADDR: `${cable.address}:${AGENT_PORT}` })
      await using agent = new AgentProcess(
        {
          agent: {
            ...gateway.options,
            server: `${cable.address}:${AGENT_PORT}`,
            retry: { baseMs: 100, capMs: 500 },
          },
          endpoints: [[{ proto: 'http', domain: 'lossy', forwardTo: 1 }]],
        },
        cable.namespace,
      )
      const { sessions, urls } = await agent.next('ready')
      const tunnels = async (): Promise<string[]> =>
        (await gateway.all<Listed>('tunnels')).map(
          ({ id, public_url: url, tunnel_session: session }) => `${id} ${url} ${session.id}`,
        )
      const before = await tunnels()
      assert.equal(urls.length, 1)
      // Somewhere between two heartbeats.
      await sleep(2000)
      const since = Date.now()
      cable.drop(lost)
      await until(async () => (await gateway.all('tunnel_sessions')).length === 0, {
        what: 'the session is gone',
        withinMs: GONE_MS,
      })
      const left = Date.now() - since
      const reported = agent.reports.length
      const noticed = (await agent.next('lost')).at - since
      const healed = Date.now()
      cable.heal()
      await until(() => agent.count('online', reported) > 0, {
        what: 'it is back',
        withinMs: BACK_MS,
      })
      const back = Date.now() - healed
      await until(async () => (await tunnels()).length > 0, { what: 'it has its tunnel' })
      reportFigures(context, {
        lost,
        'agent noticed after ms': noticed,
        'gone from the API after ms': left,
        'back after ms': back,
      })
      assert.ok(noticed <= NOTICED_MS, `the agent noticed after ${noticed} ms`)
      assert.deepEqual(await tunnels(), before)
      assert.equal((await gateway.all('tunnel_sessions'))[0]?.['id'], sessions[0])
    })
  }
})
