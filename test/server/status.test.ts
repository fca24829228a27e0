import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { connect } from 'adit'
import type { ServerStatus } from '#contract/status.ts'
import { taskProblems } from '#server/status/tasks.ts'
import { disposable } from '../agent/support.ts'
import { createResource } from '../support/each-store.ts'
import { type Member, newMember } from '../support/members.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { runAdit, startServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { issueCertificate } from '../tls/test-certificates.ts'

const DAY = 86_400_000

/** Background tasks are those of the whole process, so another server of this file may have caused a failure. */
const notOfTasks = ({ problems }: ServerStatus): ServerStatus['problems'] =>
  problems.filter(({ area }) => area !== 'background')

for (const { driver, workers } of [
  { driver: 'sqlite', workers: 2 },
  { driver: 'postgresql', workers: 1 },
])
  suite(`the status of a server on ${driver} with ${workers} gateway processes`, () => {
    let database: TestPostgres | undefined
    let server: TestServer
    let member: Member
    let stranger: Member
    let environment: Record<string, string>

    const statusOf = async (token?: string): Promise<ServerStatus> => {
      const { status, body } = await server.api.get('/status', token === undefined ? {} : { token })
      assert.equal(status, 200)
      return body
    }

    /** A reserved domain of the member with a certificate that ends then. */
    async function domainUntil(domain: string, to: number): Promise<string> {
      const as = { token: member.token }
      const names = [{ type: 'dns' as const, value: domain }]
      const { pem, keyPem } = await issueCertificate({
        name: domain,
        from: Date.now() - 300 * DAY,
        to,
        names,
      })
      const uploaded = await server.api.post(
        '/tls_certificates',
        { certificate_pem: pem, private_key_pem: keyPem },
        as,
      )
      const { body } = await server.api.post(
        '/reserved_domains',
        { domain, certificate_id: uploaded.body.id },
        as,
      )
      return String(body.id)
    }

    before(async () => {
      database = driver === 'postgresql' ? await startPostgres() : undefined
      const url = await database?.newDatabase()
      server = await startServer({
        workers: String(workers),
        ...(url !== undefined && { database_url: url }),
      })
      member = await newMember(server.api)
      stranger = await newMember(server.api)
      environment = { ADIT_API_URL: server.api.url, ADIT_DATA_DIR: server.dataDir }
    })
    after(async () => {
      await server[Symbol.asyncDispose]()
      await database?.stop()
    })

    test('describes the server, its listeners, processes and limits', async () => {
      const status = await statusOf()
      assert.deepEqual(notOfTasks(status), [])
      assert.deepEqual(status.database, { kind: driver, state: 'ok' })
      assert.deepEqual(status.online, { agents: 0, tunnels: 0, endpoints: 0 })
      const { https } = server.bound
      const listeners = Object.fromEntries(status.listeners.map(({ name, ...rest }) => [name, rest]))
      assert.deepEqual(Object.keys(listeners), ['api', 'http', 'https', 'agent', 'ssh'])
      assert.deepEqual(listeners['https'], {
        address: `127.0.0.1:${https?.port}`,
        public_address: `https://adit.localhost:${https?.port}`,
      })
      assert.deepEqual(
        status.workers.map(({ state }) => state),
        Array.from({ length: workers }, () => 'running'),
      )
      assert.equal(new Set(status.workers.map(each => each.process_id)).size, workers)
      assert.ok(status.limits.find(({ name }) => name === 'assignable_tcp_ports'))
      const files = status.limits.find(({ name }) => name === 'open_files')
      assert.ok(files === undefined || (files.used > 0 && files.used < files.limit))
    })

    test('has no addresses, processes, or numbers of others for members', async () => {
      const { token } = await createResource(server.api, '/credentials', { owner_id: member.user.id })
      const address = { server: `127.0.0.1:${server.bound.agent?.port}`, ca: `${server.dataDir}/ca.pem` }
      await using agent = disposable(await connect({ ...address, authtoken: String(token) }))
      await agent.listen({ forwardTo: 9 })
      const all = await statusOf()
      assert.deepEqual(all.online, { agents: 1, tunnels: 1, endpoints: 1 })
      const own = await statusOf(member.token)
      assert.deepEqual(own.online, { agents: 1, tunnels: 1, endpoints: 1 })
      assert.deepEqual(
        own.limits.map(({ name, used }) => [name, used]),
        [
          ['agent_sessions', 1],
          ['tunnels', 1],
          ['tunnel_tcp_ports', 0],
        ],
      )
      const other = await statusOf(stranger.token)
      assert.deepEqual(other.online, { agents: 0, tunnels: 0, endpoints: 0 })
      assert.deepEqual(
        other.listeners.map(each => each.address),
        other.listeners.map(() => null),
      )
      assert.deepEqual([other.workers, other.background, other.problems], [[], [], []])
    })

    test('needs a key', async () => {
      assert.equal((await server.api.get('/status', { token: null })).status, 401)
    })

    test('reports certificates that expire, to admins and the owner only', async () => {
      const id = await domainUntil('soon.example.com', Date.now() + 2 * DAY)
      const status = await until(() => statusOf(), { fits: found => notOfTasks(found).length > 0 })
      assert.equal(status.status, 'attention')
      const [problem] = notOfTasks(status)
      assert.equal(problem?.area, 'certificates')
      assert.equal(problem?.level, 'attention')
      assert.equal(problem?.name, 'soon.example.com')
      assert.equal(problem?.resource_id, id)
      assert.match(problem?.message, /^The certificate expires at .* Upload a new one/)
      assert.deepEqual((await statusOf(member.token)).problems, [problem])
      assert.deepEqual((await statusOf(stranger.token)).problems, [])
      const { code, stdout } = await runAdit(['status'], environment)
      assert.equal(code, 0)
      assert.match(stdout, /^ok {9}server {8}\d/m)
      assert.match(stdout, /^attention {2}certificates {2}soon\.example\.com: The certificate expires at/m)
      await server.api.delete(`/reserved_domains/${id}`)
    })

    test('fails, and adit status with it, while clients get an expired certificate', async () => {
      const id = await domainUntil('late.example.com', Date.now() + 2000)
      const isFailing = async (): Promise<boolean> => (await statusOf()).status === 'failing'
      await until(isFailing)
      const { code, stdout } = await runAdit(['status', '--output', 'json'], environment)
      assert.equal(code, 1)
      const status = JSON.parse(stdout) as ServerStatus
      assert.match(String(status.problems[0]?.message), /^The certificate expired at/)
      await server.api.delete(`/reserved_domains/${id}`)
      await until(async () => !(await isFailing()))
    })

    test('reports event deliveries that fail', async () => {
      const as = { token: member.token }
      // Nothing listens there.
      const target = { syslog: { address: '127.0.0.1:9', tls: false } }
      const destination = { format: 'json', target, description: 'archive' }
      const { body } = await server.api.post('/event_destinations', destination, as)
      assert.ok(body.id, JSON.stringify(body))
      const subscription = await server.api.post(
        '/event_subscriptions',
        { sources: [{ type: 'ip_policy_created.v0' }], destination_ids: [body.id] },
        as,
      )
      await server.api.post('/ip_policies', {}, as)
      const { problems } = await until(async () => {
        const status = await statusOf(member.token)
        return status.problem_count > 0 ? status : undefined
      })
      assert.equal(problems[0]?.area, 'events')
      assert.equal(problems[0]?.name, 'archive')
      assert.match(problems[0]?.message, /^The destination rejects events since /)
      assert.deepEqual((await statusOf(stranger.token)).problems, [])
      await server.api.delete(`/event_subscriptions/${subscription.body.id}`)
      await server.api.delete(`/event_destinations/${body.id}`)
    })
  })

test('failures of a task are counted in words', () => {
  const failed = {
    task: 'usage',
    last_message: 'not stored',
    last_error: null,
    last_at: '2026-01-31T12:00:00Z',
  }
  assert.deepEqual(
    [1, 2].map(failures => taskProblems([{ ...failed, failures }])[0]?.message.split(',')[0]),
    ['1 failure', '2 failures'],
  )
})
