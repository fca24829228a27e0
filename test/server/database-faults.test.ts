import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openPostgres } from '#store/postgres.ts'
import { signIn, visit, web } from '../agent/support.ts'
import { createResource } from '../support/each-store.ts'
import { Folder } from '../support/folder.ts'
import { freePort } from '../support/free-ports.ts'
import { startPgBouncer } from '../support/pgbouncer.ts'
import { atHost, hostOf, PostgresRelay } from '../support/postgres-relay.ts'
import { account, startPostgres, type TestPostgres } from '../support/postgres.ts'
import { runAdit, startServer, type Answer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

/** A disk for a database, which has about 8 MiB at first. */
class SmallDisk implements Disposable {
  readonly #folder = new Folder()

  constructor() {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', this.path])
    const { uid = -1, gid = -1 } = account() ?? {}
    chownSync(this.path, uid, gid)
  }

  get path(): string {
    return this.#folder.path
  }

  /** All but some of the rest. */
  fill(): void {
    const { bavail, bsize } = statfsSync(this.path)
    writeFileSync(this.#folder.file('ballast'), Buffer.alloc(Math.max(0, bavail * bsize - 500_000)))
  }

  clear(): void {
    rmSync(this.#folder.file('ballast'))
  }

  [Symbol.dispose](): void {
    execFileSync('umount', [this.path])
    this.#folder[Symbol.dispose]()
  }
}

const databaseOf = (url: string): string => new URL(url).pathname.slice(1)

const degraded = async ({ api }: TestServer): Promise<string[]> =>
  (await api.get('/readyz')).body.reasons?.map(({ code }: { code: string }) => code) ?? []

const write = ({ api }: TestServer): Promise<Answer> => api.post('/ip_policies', { description: 'one more' })

/** Interval of client requests: without a pause they would use a core for as long as a test waits. */
const PACE_MS = 20
/** Requests that must have succeeded. */
const ENOUGH = 20
/** How late each answer of a slow database is. */
const SLOW_MS = 200

/** Requests one after the other, through a tunnel of an agent. */
async function startTraffic(server: TestServer) {
  const service = await web((_, response) => response.end('here'))
  const agent = await signIn(server)
  const tunnel = await agent.listen({
    proto: 'http',
    domain: 'steady',
    forwardTo: service.port,
  })
  const failed: unknown[] = []
  let succeeded = 0
  let isOver = false
  const loop = (async () => {
    while (!isOver) {
      const { status, body } = await visit(tunnel.url)
      if (status === 200) succeeded += 1
      else failed.push(body)
      await pause(PACE_MS)
    }
  })()
  return {
    async end() {
      await until(() => failed.length > 0 || succeeded > ENOUGH)
      isOver = true
      await loop
      await agent.close()
      await service[Symbol.asyncDispose]()
      return failed
    },
  }
}

suite('a server', () => {
  let postgres: TestPostgres
  before(async () => {
    postgres = await startPostgres()
  })
  after(() => postgres.stop())

  const cut = (): Promise<void> =>
    postgres.administer(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'adit'`,
    )

  test('on a read-only database rejects writes with the reason, and recovers by itself', async () => {
    const url = await postgres.newDatabase()
    await using server = await startServer({ database_url: url })
    const { id } = await createResource(server.api, '/ip_policies')
    const traffic = await startTraffic(server)
    await postgres.administer(`ALTER DATABASE ${databaseOf(url)} SET default_transaction_read_only = on`)
    await cut()

    const refused = await until(() => write(server), { fits: ({ body }) => /read-only/.test(body.msg) })
    assert.equal(refused.status, 503)
    assert.equal(refused.headers.get('retry-after'), '5')
    assert.equal((await server.api.get(`/ip_policies/${id}`)).status, 200)
    assert.deepEqual(await degraded(server), ['storage_read_only'])
    assert.equal((await server.api.get('/status')).body.database.state, 'read_only')

    await postgres.administer(`ALTER DATABASE ${databaseOf(url)} RESET default_transaction_read_only`)
    await cut()
    await until(() => write(server), { fits: ({ status }) => status === 201 })
    await until(() => degraded(server), { fits: codes => codes.length === 0 })
    assert.deepEqual(await traffic.end(), [])
  })

  test('on a full database rejects writes with the reason, loses nothing, and recovers by itself', async () => {
    using disk = new SmallDisk()
    const url = await postgres.newDatabase()
    try {
      await postgres.administer(`CREATE TABLESPACE small LOCATION '${disk.path}'`)
      await postgres.administer(`ALTER DATABASE ${databaseOf(url)} SET TABLESPACE small`)
      await using server = await startServer({ database_url: url })
      disk.fill()
      const acknowledged: string[] = []
      const more = async (): Promise<Answer> => {
        // PostgreSQL compresses what repeats.
        const answer = await server.api.post('/ip_policies', { metadata: randomBytes(2000).toString('hex') })
        if (answer.status === 201) acknowledged.push(answer.body.id)
        return answer
      }
      const refused = await until(more, { fits: ({ status }) => status !== 201, next: async () => undefined })
      assert.equal(refused.status, 507)
      assert.match(refused.body.msg, /disk is full: nothing was changed/)
      assert.deepEqual(await degraded(server), ['storage_full'])
      assert.equal((await server.api.get('/status')).body.database.state, 'full')

      disk.clear()
      await until(() => degraded(server), { fits: codes => codes.length === 0 })
      await until(more, { fits: ({ status }) => status === 201 })
      for (const id of acknowledged) assert.equal((await server.api.get(`/ip_policies/${id}`)).status, 200)
    } finally {
      await postgres.administer(`DROP DATABASE ${databaseOf(url)} WITH (FORCE)`)
      await postgres.administer('DROP TABLESPACE small')
    }
  })

  test('on a slow database starts and works, without a pile-up', async () => {
    const url = await postgres.newDatabase()
    // The schema is there from before.
    await (await openPostgres(url))[Symbol.asyncDispose]()
    await using relay = await PostgresRelay.start(url)
    // Its many queries, one after the other, take half a minute.
    if (process.env['TEST_LONG'] === '1') relay.delayMs = SLOW_MS
    await using server = await startServer({ database_url: relay.url })
    relay.delayMs = SLOW_MS
    const traffic = await startTraffic(server)
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) => (n % 10 === 0 ? write(server) : server.api.get('/ip_policies'))),
    )
    for (const { status, headers } of answers) {
      // What cannot be done in time is rejected rather than kept.
      assert.ok([200, 201, 503].includes(status), String(status))
      if (status === 503) assert.equal(headers.get('retry-after'), '5')
    }
    assert.equal((await write(server)).status, 201)
    // A credential can be used as soon as it is created.
    const { token } = await createResource(server.api, '/credentials')
    await (await signIn(server, { authtoken: String(token) })).close()
    assert.ok(relay.mostConnections <= 12, `${relay.mostConnections} connections`)
    assert.deepEqual(await traffic.end(), [])
  })

  test('behind PgBouncer works in session mode, and does not start in transaction mode', async () => {
    const url = await postgres.newDatabase()
    await using sessions = await startPgBouncer(url, 'session')
    await using server = await startServer({
      database_url: sessions.url,
      peer_addr: `127.0.0.1:${await freePort()}`,
    })
    assert.equal((await write(server)).status, 201)
    await using transactions = await startPgBouncer(url, 'transaction')
    using folder = new Folder()
    const { code, stderr } = await runAdit(['serve'], {
      ADIT_DATA_DIR: folder.path,
      ADIT_DATABASE_URL: transactions.url,
    })
    assert.equal(code, 1)
    assert.match(stderr.trim(), /^[^\n]*connection pooler in transaction mode[^\n]*$/)
  })

  test('CLU-06 keeps every acknowledged write, and fails no client, when its primary is lost', async () => {
    const url = await postgres.newDatabase()
    const standby = await postgres.startStandby()
    try {
      const hosts = atHost(url, `${hostOf(url)},${hostOf(standby.url)}`)
      await using server = await startServer({
        database_url: `${hosts}&target_session_attrs=read-write`,
      })
      const traffic = await startTraffic(server)
      const acknowledged: string[] = []
      const change = async (): Promise<number> => {
        const { status, body } = await write(server)
        if (status === 201) acknowledged.push(body.id)
        return status
      }
      await until(async () => (await change()) === 201 && acknowledged.length >= 20)
      await postgres.crash()
      assert.equal(await change(), 503)
      await standby.promote()
      await until(change, { fits: status => status === 201 })
      for (const id of acknowledged) assert.equal((await server.api.get(`/ip_policies/${id}`)).status, 200)
      assert.deepEqual(await traffic.end(), [])
    } finally {
      await standby.stop()
    }
  })
})
