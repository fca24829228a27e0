import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, suite, test } from 'node:test'
import { World } from '../edges/world.ts'
import { freePort } from '../../support/free-ports.ts'
import { program } from '../../support/program.ts'
import { Caller, runAdit, type Answer } from '../../support/server.ts'
import { Victim } from './victim.ts'
import { until } from '../../support/until.ts'
import { Folder } from '../../support/folder.ts'

const MEBIBYTE = 2 ** 20
const CONCURRENT = 8
const BODY = 'x'.repeat(30_000)

interface Backend {
  readonly id: string
  readonly description: string
}

/** Writes on several connections until each gets a rejection; resolves to the created resources and the rejections. */
async function fill(api: Caller): Promise<{ made: Backend[]; refusals: Answer[] }> {
  const made: Backend[] = []
  const writer = async (_: unknown, name: number): Promise<Answer> => {
    for (let count = 0; count < 1000; count++) {
      const answer = await api.post('/backends/http_response', {
        description: `${name}.${count}`,
        body: BODY,
      })
      if (answer.status !== 201) return answer
      made.push(answer.body)
    }
    return assert.fail('the disk did not fill')
  }
  return { refusals: await Promise.all(Array.from({ length: CONCURRENT }, writer)), made }
}

function assertFull({ status, body }: Answer): void {
  assert.equal(status, 507, JSON.stringify(body))
  assert.equal(body.status_code, 507)
  assert.match(body.error_code, /^ERR_ADIT_\d+$/)
  assert.match(body.msg, /disk .* full/)
  assert.match(body.details.operation_id, /^op_/)
}

async function assertKept(api: Caller, made: readonly Backend[]): Promise<void> {
  for (const { id, description } of made) {
    const { status, body } = await api.get(`/backends/http_response/${id}`)
    assert.deepEqual([status, body?.description, body?.body === BODY], [200, description, true], id)
  }
  const { body } = await api.get('/backends/http_response')
  assert.deepEqual(body.backends.map(({ id }: Backend) => id).toSorted(), made.map(({ id }) => id).toSorted())
}

/** 200 in both cases: a balancer must not take away what is still served. */
async function assertReady(api: Caller, expected: 'ready' | 'degraded'): Promise<void> {
  const { status, body } = await api.get('/readyz')
  const codes = ((body.reasons ?? []) as { code: string }[]).map(({ code }) => code)
  assert.deepEqual(
    [status, body.status, codes],
    [200, expected, expected === 'ready' ? [] : ['storage_full']],
  )
}

/** Writes until not a single block is left. */
function fillUp(path: string): void {
  for (let size = MEBIBYTE; size >= 1; size = Math.floor(size / 2)) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(size), { flag: 'a' })
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
    }
  }
}

suite('a full disk', () => {
  let folder: Folder
  before(() => {
    folder = new Folder()
    // Throws with mount's own words where mounting is not permitted: this test cannot be done without.
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder.path])
  })
  after(() => {
    execFileSync('umount', [folder.path])
    folder[Symbol.dispose]()
  })

  test('rejects writes, serves reads, loses nothing, and recovers once there is space', async () => {
    const ballast = join(folder.path, 'ballast')
    await using full = await Victim.start(folder, {})
    const { api } = full.server
    await writeFile(ballast, Buffer.alloc(5 * MEBIBYTE))
    const { made, refusals } = await fill(api)
    for (const refusal of refusals) assertFull(refusal)
    assert.ok(made.length > 0)
    await assertKept(api, made)
    await assertReady(api, 'degraded')

    await rm(ballast)
    await assertReady(api, 'ready')
    const { status, body } = await api.post('/backends/http_response', { description: 'after', body: BODY })
    assert.equal(status, 201)
    const [first] = made.splice(0, 1)
    assert.equal((await api.delete(`/backends/http_response/${first?.id}`)).status, 204)
    await assertKept(api, [...made, body])
    await full.server.end('SIGKILL')

    await using again = await Victim.start(folder, {})
    await assertKept(again.server.api, [...made, body])
  })
})

suite('a start on a full disk', () => {
  let folder: Folder
  beforeEach(() => {
    folder = new Folder()
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder.path])
  })
  afterEach(() => {
    execFileSync('umount', [folder.path])
    folder[Symbol.dispose]()
  })

  test('ends the first start, which names the folder', async () => {
    fillUp(join(folder.path, 'ballast'))
    const listeners = Object.fromEntries(
      ['HTTP', 'HTTPS', 'AGENT', 'SSH'].map(name => [`ADIT_${name}_ADDR`, 'off']),
    )
    const { code, stderr } = await runAdit(['serve'], {
      ...listeners,
      ADIT_API_ADDR: '127.0.0.1:0',
      ADIT_DATA_DIR: folder.path,
    })
    const reason = `The disk of the database is full. Free some space for ${folder.path} (ADIT_DATA_DIR)`
    assert.deepEqual([code, stderr], [1, `adit: ${reason}\n`])
  })

  /** What the second start finds, and what it is started with. */
  const cases: [what: string, index: 'kept' | 'gone', environment: Record<string, string>][] = [
    ['serves and reads', 'kept', {}],
    ['serves without the index of the database', 'gone', {}],
    ['serves with several processes', 'gone', { ADIT_WORKERS: '2' }],
    // Its name would have to be written down first, before certificates are ordered.
    [
      'serves under a new domain',
      'kept',
      { ADIT_DOMAIN: 'tun.example.com', ADIT_ACME_DIRECTORY: 'https://127.0.0.1:9/directory' },
    ],
  ]
  for (const [what, index, environment] of cases)
    test(`${what}, rejects writes, and recovers without another start`, async () => {
      const ballast = join(folder.path, 'ballast')
      let made: Backend[]
      {
        await using first = await Victim.start(folder, {})
        await writeFile(ballast, Buffer.alloc(5 * MEBIBYTE))
        made = (await fill(first.server.api)).made
        await first.server.end('SIGKILL')
      }
      if (index === 'gone') rmSync(join(folder.path, 'adit.db-shm'))
      fillUp(ballast)

      await using full = await Victim.start(folder, environment)
      const { api, bound } = full.server
      const authtoken = readFileSync(join(folder.path, 'authtoken'), 'utf8').trim()
      await using world = new World({
        api,
        bound,
        authtoken,
        dataDir: folder.path,
        [Symbol.asyncDispose]: async () => undefined,
      })
      const assertTraffic = async (): Promise<void> => {
        const agent = await world.agent()
        const service = await world.service((_, response) => response.end('through'))
        const { url } = await agent.listen({ proto: 'https', forwardTo: service })
        assert.equal((await world.ask(new URL(url).hostname)).text, 'through')
      }
      await assertReady(api, 'degraded')
      // What lies unused in the files of the database may still take a few.
      const { made: more, refusals } = await fill(api)
      for (const refusal of refusals) assertFull(refusal)
      made.push(...more)
      await assertReady(api, 'degraded')
      await assertKept(api, made)
      await assertTraffic()

      await rm(ballast)
      await assertReady(api, 'ready')
      const { status, body } = await api.post('/backends/http_response', { description: 'after', body: BODY })
      assert.equal(status, 201)
      await assertKept(api, [...made, body])
      await assertTraffic()
    })
})

test('output and log on a full disk are lost, and the server keeps running', async () => {
  using folder = new Folder()
  const port = await freePort()
  const child = spawn('sh', ['-c', `exec ${program} serve >/dev/full 2>/dev/full`], {
    stdio: 'ignore',
    env: {
      PATH: process.env['PATH'],
      ADIT_DATA_DIR: folder.path,
      ADIT_API_ADDR: `127.0.0.1:${port}`,
      ...Object.fromEntries(
        ['HTTP', 'HTTPS', 'AGENT', 'SSH'].map(name => [`ADIT_${name}_ADDR`, '127.0.0.1:0']),
      ),
      ADIT_ACME_DIRECTORY: 'off',
      ADIT_LOG_LEVEL: 'debug',
    },
  })
  const ended = once(child, 'exit')
  try {
    const url = `http://127.0.0.1:${port}`
    await until(() => fetch(`${url}/readyz`).catch(() => undefined), {
      fits: answer => answer?.status === 200 || child.exitCode !== null,
    })
    const api = new Caller(url, readFileSync(join(folder.path, 'api-key'), 'utf8').trim())
    for (let count = 0; count < 20; count++) assert.equal((await api.post('/ip_policies')).status, 201)
    assert.deepEqual((await api.get('/readyz')).body, { status: 'ready' })
    assert.equal(child.exitCode, null)
  } finally {
    child.kill('SIGKILL')
    await ended
  }
})
