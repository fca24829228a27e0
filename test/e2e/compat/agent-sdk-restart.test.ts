import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { spawnServer, type Process } from '../../support/server.ts'
import { openHoldingProxy } from './agent-sdk/holding-proxy.ts'
import { callback, Sdk } from './agent-sdk/sdk.ts'
import { rootOf, tcpExchange, visit } from './agent-sdk/visits.ts'
import { echoServer } from './agent-sdk/world.ts'
import { freePort } from '../../support/free-ports.ts'
import { until } from '../../support/until.ts'
import { newFolder } from '../../support/folder.ts'
import { listening } from '../../support/net.ts'

/** A gateway as a process of its own that can be started again at the same addresses. */
async function openPlace() {
  const dataDir = newFolder()
  const ports = { agent: await freePort(), https: await freePort() }
  const front = await openHoldingProxy(ports.agent)
  const start = () =>
    spawnServer(dataDir, {
      ADIT_AGENT_ADDR: `127.0.0.1:${ports.agent}`,
      ADIT_HTTPS_ADDR: `127.0.0.1:${ports.https}`,
      ADIT_LOG_LEVEL: 'silent',
    })
  let gateway: Process = await start()
  const sdk = new Sdk({
    server_addr: `localhost:${front.port}`,
    root_cas: join(dataDir, 'ca.pem'),
    authtoken: readFileSync(join(dataDir, 'authtoken'), 'utf8').trim(),
  })
  return {
    sdk,
    front,
    root: rootOf(dataDir),
    list: async (kind: string): Promise<Listed[]> => (await gateway.api.get(`/${kind}`)).body[kind],
    async restart(signal: 'SIGTERM' | 'SIGKILL') {
      await gateway.end(signal)
      gateway = await start()
    },
    async [Symbol.asyncDispose]() {
      await sdk[Symbol.asyncDispose]()
      await gateway.end('SIGTERM')
      await front[Symbol.asyncDispose]()
      rmSync(dataDir, { recursive: true })
    },
  }
}

interface Listed {
  readonly id: string
  readonly public_url: string
  readonly started_at: string
}

type Place = Awaited<ReturnType<typeof openPlace>>

const events: Readonly<Record<string, (place: Place) => Promise<void> | void>> = {
  'the gateway is restarted (SIGTERM)': place => place.restart('SIGTERM'),
  'the gateway is killed and started again (SIGKILL)': place => place.restart('SIGKILL'),
  'its connection is cut': ({ front }) => front.cut(),
}

suite('the published SDK @ngrok/ngrok: it reconnects', () => {
  for (const [event, happen] of Object.entries(events))
    test(`with every URL and id after ${event}`, async () => {
      await using place = await openPlace()
      await using service = await listening(echoServer())
      const { sdk, root } = place
      const session = await sdk.connect(['handleDisconnection', callback('lost')])
      const to = `http://127.0.0.1:${service.port}`
      const guard = ['basicAuth', 'ann', 'correct-one'] as const
      const web = await sdk.call(session, ['httpEndpoint'], guard, ['listenAndForward', to])
      const tcp = await sdk.call(session, ['tcpEndpoint'], ['listenAndForward', to.replace('http', 'tcp')])
      const labels = await sdk.call(
        session,
        ['labeledListener'],
        ['label', 'a', 'b'],
        ['listenAndForward', to],
      )

      const isServed = async (): Promise<void> => {
        const headers = { authorization: `Basic ${Buffer.from('ann:correct-one').toString('base64')}` }
        assert.equal((await visit(web.url, { ca: root, headers })).status, 200)
        assert.equal((await visit(web.url, { ca: root })).status, 401)
        assert.match(
          await tcpExchange(tcp.url, 'GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'),
          /^HTTP\/1\.1 200 /,
        )
      }
      const seen = async () => {
        const tunnels = await place.list('tunnels')
        // The time of its start travels in the token of a tunnel with an address, and a labelled one has none.
        return tunnels.map(({ id, public_url: url, started_at }) => ({ id, url, since: url && started_at }))
      }
      await isServed()
      const before = await seen()
      const ids = (await place.list('tunnels')).map(({ id }) => id)
      assert.deepEqual(new Set(ids), new Set([web.id, tcp.id, labels.id]))
      const [identity] = await place.list('tunnel_sessions')

      const lost = sdk.next('lost')
      await happen(place)
      await lost
      // The gateway may learn of a cut later than the SDK, and lists its tunnels until then; it cannot serve them.
      const servedAgain = () =>
        isServed().then(
          () => true,
          () => false,
        )
      await until(servedAgain, { what: 'it is served again' })
      await until(async () => (await place.list('tunnels')).length === 3, { what: 'all tunnels are back' })
      assert.deepEqual(await seen(), before)
      assert.deepEqual(
        (await place.list('tunnel_sessions')).map(({ id }) => id),
        [identity?.id],
      )
    })

  test('a labelled listener can be closed after the gateway is restarted', async () => {
    await using place = await openPlace()
    const { sdk } = place
    const session = await sdk.connect(
      ['handleDisconnection', callback('lost')],
      ['heartbeatInterval', 1],
      ['handleHeartbeat', callback('beat')],
    )
    const steps = [
      ['label', 'a', 'b'],
      ['listenAndForward', 'http://127.0.0.1:1/'],
    ] as const
    const listener = await sdk.call(session, ['labeledListener'], ...steps)
    const lost = sdk.next('lost')
    await place.restart('SIGKILL')
    await lost
    await until(async () => (await place.list('tunnels')).length === 1, { what: 'the tunnel is back' })
    // Only when its tunnels are back does the SDK take the new connection for what it is asked to do.
    for (let beats = 0; beats < 2; beats++) await sdk.next('beat')
    await sdk.call(listener, ['close'])
    await until(async () => (await place.list('tunnels')).length === 0, { what: 'the tunnel is gone' })
  })
})
