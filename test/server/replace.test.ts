import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { suite, test } from 'node:test'
import { freePort } from '../support/free-ports.ts'
import { Caller } from '../support/server.ts'
import { Folder, refused, start, type Program } from './program.ts'

/** Waits until it has logged this, counted from the start. */
async function logged(program: Program, text: string, times = 1): Promise<void> {
  while (program.stderr.split(text).length - 1 < times) {
    assert.equal(program.child.exitCode, null, program.stderr)
    await once(program.child.stderr ?? program.child, 'data')
  }
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Makes policies one after another, each by a connection of its own, until it is told to stop. */
class Writer implements AsyncDisposable {
  readonly made: string[] = []
  readonly #done: Promise<void>
  #stopping = false

  constructor(url: string, key: string) {
    this.#done = this.#run(url, key)
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await this.#done
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping = true
    await this.#done.catch(() => undefined)
  }

  async #run(url: string, key: string): Promise<void> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    while (!this.#stopping) {
      const sent = request(`${url}/ip_policies`, { method: 'POST', agent: false, headers })
      sent.end('{}')
      const [response] = await once(sent, 'response')
      const text = (await buffer(response)).toString()
      assert.equal(response.statusCode, 201, text)
      this.made.push((JSON.parse(text) as { id: string }).id)
    }
  }
}

suite('SIGUSR2 replaces the server', () => {
  for (const workers of ['1', '2'])
    test(`without a call that fails, and again and again (workers: ${workers})`, async () => {
      using folder = new Folder()
      const environment = {
        ADIT_DATA_DIR: folder.path,
        ADIT_API_ADDR: `127.0.0.1:${await freePort()}`,
        ADIT_HTTP_ADDR: `127.0.0.1:${await freePort()}`,
        ADIT_DNS_ADDR: `127.0.0.1:${await freePort()}`,
        ADIT_WORKERS: workers,
        ADIT_RATE_LIMIT: '0',
      }
      await using program = await start(environment)
      await using writer = new Writer(program.url, program.key ?? '')
      const processes: number[] = []
      for (const round of [1, 2]) {
        program.child.kill('SIGUSR2')
        // The next one is asked for while the one before may not have ended.
        await logged(program, 'a new process serves', round)
        processes.push(Number([...program.stderr.matchAll(/"process":(\d+)/g)].at(-1)?.[1]))
      }
      await logged(program, 'the previous process has ended its work', 2)
      const [first = 0, second = 0] = processes
      assert.ok(isAlive(second))
      assert.notEqual(first, second)
      await writer.stop()
      const { body } = await program.caller().get('/ip_policies?limit=1')
      assert.equal(body.ip_policies[0].id, writer.made.at(-1))
      for (const id of writer.made)
        assert.equal((await program.caller().get(`/ip_policies/${id}`)).status, 200)
      assert.equal(await program.end('SIGTERM'), 0)
      assert.ok(!isAlive(first) && !isAlive(second))
    })

  test('a server that cannot start leaves the old one as it is', async () => {
    using folder = new Folder()
    const config = join(folder.path, 'server.yml')
    writeFileSync(config, 'region: eu\n')
    await using program = await start({ ADIT_DATA_DIR: folder.path }, ['--config', config])
    writeFileSync(config, 'region: [\n')
    program.child.kill('SIGUSR2')
    await logged(program, 'the server was not replaced and goes on')
    const key = readFileSync(join(folder.path, 'api-key'), 'utf8').trim()
    const made = await new Caller(program.url, key).post('/ip_policies')
    assert.equal(made.status, 201)
    writeFileSync(config, 'region: eu\n')
    program.child.kill('SIGUSR2')
    await logged(program, 'a new process serves')
    assert.equal(await program.end('SIGTERM'), 0)
  })
})

test('a second server on the same ports is refused', async () => {
  using folder = new Folder()
  using other = new Folder()
  const taken = { ADIT_HTTP_ADDR: `127.0.0.1:${await freePort()}` }
  await using program = await start({ ADIT_DATA_DIR: folder.path, ...taken })
  assert.equal(program.child.exitCode, null)
  const { code, stderr } = await refused({ ADIT_DATA_DIR: other.path, ...taken })
  assert.equal(code, 1)
  assert.match(stderr, /cannot listen on .*ADIT_HTTP_ADDR.*another program uses it/)
})
