import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../support/free-ports.ts'
import { logged, start } from './program.ts'
import { Folder } from '../support/folder.ts'

const PAUSE_MS = 5

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Makes policies one after another, each by a connection of its own, until it is stopped. */
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
      // Often enough for each moment of a replacement, which needs the processor too.
      await sleep(PAUSE_MS)
    }
  }
}

/** Replaces a server twice under calls, and fails if one of them does. */
async function replaceTwice(workers: string): Promise<number> {
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
    // The next one is requested while the one before may not have ended.
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
  for (const id of writer.made) assert.equal((await program.caller().get(`/ip_policies/${id}`)).status, 200)
  assert.equal(await program.end('SIGTERM'), 0)
  assert.ok(!isAlive(first) && !isAlive(second))
  return writer.made.length
}

console.log(`${await replaceTwice(process.argv[2] ?? '1')} calls`)
