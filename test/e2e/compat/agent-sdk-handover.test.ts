import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { freePorts } from '../../support/free-ports.ts'
import { Caller, spawnServer } from '../../support/server.ts'
import { callback, Sdk } from './agent-sdk/sdk.ts'
import { rootOf, visit } from './agent-sdk/visits.ts'
import { echoServer } from './agent-sdk/world.ts'
import { until } from '../../support/until.ts'
import { newFolder } from '../../support/folder.ts'
import { listening } from '../../support/net.ts'

const SESSIONS = 7
const ROUNDS = process.env['TEST_LONG'] === undefined ? 3 : 20
/** The SDK tries at 0, 0.05 and 2.56 seconds, and then only after two minutes: all are back before that. */
const BACK_MS = 60_000

/** A server at fixed addresses, and an SDK with several sessions. */
async function openPlace(workers: number) {
  const dataDir = newFolder()
  const [api = 0, http = 0, https = 0, agent = 0, ssh = 0] = await freePorts(5)
  const server = await spawnServer(dataDir, {
    ADIT_API_ADDR: `127.0.0.1:${api}`,
    ADIT_HTTP_ADDR: `127.0.0.1:${http}`,
    ADIT_HTTPS_ADDR: `127.0.0.1:${https}`,
    ADIT_AGENT_ADDR: `127.0.0.1:${agent}`,
    ADIT_SSH_ADDR: `127.0.0.1:${ssh}`,
    ADIT_WORKERS: String(workers),
    ADIT_LOG_LEVEL: 'info',
  })
  const sdk = new Sdk({
    server_addr: `localhost:${agent}`,
    root_cas: join(dataDir, 'ca.pem'),
    authtoken: readFileSync(join(dataDir, 'authtoken'), 'utf8').trim(),
  })
  const logged = (message: string): number => server.output().split(message).length - 1
  return {
    server,
    sdk,
    api: new Caller(`http://127.0.0.1:${api}`, server.api.token),
    root: rootOf(dataDir),
    /** Has the server replaced; resolves when the new one serves. */
    async replace(round: number): Promise<void> {
      assert.equal(logged('a new process serves'), round)
      server.child.kill('SIGUSR2')
      await until(() => logged('a new process serves') > round, {
        what: 'a new process serves',
        withinMs: 300_000,
      })
    },
    /**
     * Resolves when the listeners of the previous process are closed. Without `net.ipv4.tcp_migrate_req` Linux resets a
     * connection that one of them gets in its last microseconds.
     */
    async previousEnded(round: number, withinMs: number): Promise<void> {
      const what = 'the previous process has ended its work'
      await until(() => logged(what) > round, { what, withinMs })
    },
    async [Symbol.asyncDispose]() {
      await sdk[Symbol.asyncDispose]()
      await server.end('SIGTERM')
      rmSync(dataDir, { recursive: true })
    },
  }
}

suite('the published SDK @ngrok/ngrok: the server is replaced while it runs', () => {
  for (const workers of [1, 2])
    test(`${SESSIONS} sessions are back within ${BACK_MS} ms each time (workers: ${workers})`, async context => {
      await using place = await openPlace(workers)
      context.after(() => context.passed || context.diagnostic(place.server.output()))
      await using service = await listening(echoServer())
      const { sdk, api, root } = place
      const urls: string[] = []
      let lost = 0
      sdk.events.on('lost', () => lost++)
      for (let count = 0; count < SESSIONS; count++) {
        const session = await sdk.connect(['handleDisconnection', callback('lost')])
        const to = `http://127.0.0.1:${service.port}`
        const listener = await sdk.call(session, ['httpEndpoint'], ['listenAndForward', to])
        urls.push(listener.url)
      }
      // Each by a connection of its own: one that is kept may be closed in the moment in which it is used again.
      const read = async (path: string) =>
        (await visit(api.url + path, { headers: { authorization: `Bearer ${api.token}` } })).text
      const ids = async () =>
        (JSON.parse(await read('/tunnels')) as { tunnels: { id: string }[] }).tunnels
          .map(({ id }) => id)
          .toSorted()
      const before = await ids()
      assert.equal(before.length, SESSIONS)
      const times: number[] = []
      for (let round = 0; round < ROUNDS; round++) {
        const expected = lost + SESSIONS
        await place.replace(round)
        await until(() => lost >= expected, { what: 'all were disconnected', withinMs: 40_000 })
        const begun = performance.now()
        await place.previousEnded(round, BACK_MS)
        await until(async () => (await ids()).length === SESSIONS, {
          what: 'all are back',
          withinMs: BACK_MS - (performance.now() - begun),
        })
        times.push(Math.round(performance.now() - begun))
        assert.deepEqual(await ids(), before)
        for (const url of urls) assert.equal((await visit(url, { ca: root })).status, 200)
      }
      context.diagnostic(`back after ms: ${times.join(', ')}`)
    })
})
