import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type Agent } from 'adit'
import { disposable } from '../agent/support.ts'
import { Folder } from '../support/folder.ts'
import { freePorts } from '../support/free-ports.ts'
import { childrenOf, firstProcessOf, isAlive, listenersOn, workersOf } from '../support/processes.ts'
import { until } from '../support/until.ts'
import { logged, refused, start, takePort, type Program } from './program.ts'

const HOST = 'shop.adit.localhost'
/** Often enough for each moment of a restart, which needs the processor too. */
const PAUSE_MS = 5

async function startService() {
  const service = createServer((_, answer) => answer.end('here')).listen(0, '127.0.0.1')
  await once(service, 'listening')
  return { port: (service.address() as AddressInfo).port, [Symbol.dispose]: () => void service.close() }
}

/** A server with two workers, and what a test does with it. */
class Supervised implements AsyncDisposable {
  readonly folder = new Folder()
  readonly config = this.folder.file('server.yml')
  #program: Program | undefined
  #ports: readonly number[] = []

  static async start(settings = ''): Promise<Supervised> {
    const server = new Supervised()
    writeFileSync(server.config, settings)
    server.#ports = await freePorts(3)
    const [api, http, agents] = server.#ports.map(port => `127.0.0.1:${port}`)
    server.#program = await start(
      {
        ADIT_DATA_DIR: server.folder.path,
        ADIT_WORKERS: '2',
        ADIT_RATE_LIMIT: '0',
        ADIT_API_ADDR: api ?? '',
        ADIT_HTTP_ADDR: http ?? '',
        ADIT_AGENT_ADDR: agents ?? '',
      },
      ['--config', server.config],
    )
    return server
  }

  get program(): Program {
    assert.ok(this.#program)
    return this.#program
  }

  get pid(): number {
    return this.program.child.pid ?? 0
  }

  get api() {
    return this.program.caller(readFileSync(join(this.folder.path, 'api-key'), 'utf8').trim())
  }

  async connect(): Promise<Agent & AsyncDisposable> {
    const agent = await connect({
      server: `127.0.0.1:${this.#ports[2]}`,
      authtoken: readFileSync(join(this.folder.path, 'authtoken'), 'utf8').trim(),
      ca: join(this.folder.path, 'ca.pem'),
      retry: { baseMs: 50, capMs: 500 },
    })
    return disposable(agent)
  }

  /** By a connection of its own, so that any worker may get it. */
  async visit(host = HOST): Promise<number | undefined> {
    const request = get({ host: '127.0.0.1', port: this.#ports[1], headers: { host }, agent: false })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    await once(response.resume(), 'end')
    return response.statusCode
  }

  /** The system spreads so many over all workers. */
  visits(host = HOST): Promise<(number | undefined)[]> {
    return Promise.all(Array.from({ length: 20 }, () => this.visit(host)))
  }

  async untilAll(status: number, host = HOST): Promise<void> {
    await until(() => this.visits(host), { fits: found => found.every(each => each === status) })
  }

  async untilBothListen(): Promise<void> {
    await until(() => listenersOn(this.#ports[1] ?? 0) === 2)
  }

  get firstProcess(): Promise<number> {
    return until(() => firstProcessOf(this.pid))
  }

  /** Kills the first process; `times` counts those since the start. */
  async killFirst(times = 1): Promise<void> {
    const pid = await this.firstProcess
    process.kill(pid, 'SIGKILL')
    await until(() => !isAlive(pid))
    await logged(this.program, 'the first process exited', times)
  }

  async untilTakenOver(times = 1): Promise<void> {
    await logged(this.program, 'gateway processes taken over', times)
    await until(() => this.api.get('/status').catch(() => undefined))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program?.[Symbol.asyncDispose]()
    this.folder[Symbol.dispose]()
  }
}

/** Repeats a call until it is stopped or fails. */
function repeat(call: () => Promise<unknown>) {
  let isStopped = false
  const run = async (): Promise<void> => {
    while (!isStopped) {
      await call()
      await sleep(PAUSE_MS)
    }
  }
  const done = run()
  done.catch(() => undefined)
  return {
    stop(): Promise<void> {
      isStopped = true
      return done
    },
  }
}

suite('the loss of the first process', { timeout: 600_000 }, () => {
  test('does not affect clients and agents, and earlier decisions stay', async () => {
    using service = await startService()
    await using server = await Supervised.start()
    await using agent = await server.connect()
    const tunnel = await agent.listen({ proto: 'http', domain: HOST, forwardTo: service.port })
    const workers = workersOf(server.pid)
    assert.equal(workers.length, 2)
    await server.untilAll(200)

    const visiting = repeat(async () => assert.equal(await server.visit(), 200))
    const acknowledged: string[] = []
    const { api } = server
    const writing = repeat(async () => {
      const { status, body } = await api.post('/ip_policies')
      if (status === 201) acknowledged.push(body.id)
    })
    await until(() => acknowledged.length > 5)
    await server.killFirst()
    await writing.stop().catch(() => undefined)

    // A sign-in and a new address wait for the next first process.
    await using newcomer = await server.connect()
    const second = await newcomer.listen({ proto: 'http', forwardTo: service.port })
    await server.untilTakenOver()
    await server.untilAll(200, new URL(second.url ?? '').hostname)
    for (const id of acknowledged) assert.equal((await api.get(`/ip_policies/${id}`)).status, 200)
    const { body } = await api.get('/tunnels')
    const listed = body.tunnels.map(({ id }: { id: string }) => id)
    assert.deepEqual(listed.toSorted(), [tunnel.id, second.id].toSorted())
    await visiting.stop()
    assert.deepEqual(workersOf(server.pid), workers)

    // An address that is in use is still taken, and an agent that reconnects keeps its own.
    await assert.rejects(newcomer.listen({ proto: 'http', domain: HOST, forwardTo: service.port }))
    for (const worker of workers) {
      process.kill(worker, 'SIGKILL')
      await until(() => !isAlive(worker))
      await server.untilBothListen()
      await server.untilAll(200)
      await server.untilAll(200, new URL(second.url ?? '').hostname)
    }
    assert.equal(agent.sessionId, (await api.get(`/tunnels/${tunnel.id}`)).body.tunnel_session.id)

    // Changes take effect at every worker, also after a replacement and the loss of the new first process.
    server.program.child.kill('SIGUSR2')
    await logged(server.program, 'the previous process has ended its work')
    await server.killFirst(2)
    await server.untilTakenOver(2)
    await server.untilAll(200)
    const policy = await api.post('/ip_policies')
    const rule = { ip_policy_id: policy.body.id, cidr: '192.0.2.0/24', action: 'allow' }
    assert.equal((await api.post('/ip_policy_rules', rule)).status, 201)
    const restriction = { type: 'endpoints', enforced: true, ip_policy_ids: [policy.body.id] }
    assert.equal((await api.post('/ip_restrictions', restriction)).status, 201)
    await server.untilAll(403)

    // Without the supervisor no process is left.
    const children = childrenOf(server.pid)
    assert.equal(children.length, 3)
    await server.program.end('SIGKILL')
    await until(() => !children.some(isAlive))
  })

  test('with other settings replaces the workers, and again and again ends the server with its exit code', async () => {
    using service = await startService()
    await using server = await Supervised.start('region: eu\n')
    await using agent = await server.connect()
    await agent.listen({ proto: 'http', domain: HOST, forwardTo: service.port })
    await server.untilAll(200)
    const workers = workersOf(server.pid)
    writeFileSync(server.config, 'region: us\n')
    await server.killFirst()
    await server.untilTakenOver()
    await until(() => {
      const now = workersOf(server.pid)
      return now.length === 2 && !now.some(pid => workers.includes(pid))
    })
    await server.untilAll(200)

    writeFileSync(server.config, 'region: [\n')
    await server.killFirst(2)
    await logged(server.program, 'the first process exited', 3)
    assert.equal(await server.visit(), 200)
    const children = childrenOf(server.pid)
    await once(server.program.child, 'close')
    assert.equal(server.program.child.exitCode, 2)
    assert.match(server.program.stderr, /the first process exits again and again/)
    // Their output is closed a moment before they are gone.
    await until(() => !children.some(isAlive))
  })

  test('does not keep the server from stopping', async () => {
    await using server = await Supervised.start()
    writeFileSync(server.config, 'region: [\n')
    const children = childrenOf(server.pid)
    await server.killFirst()
    await logged(server.program, 'the first process exited', 2)
    assert.equal(await server.program.end('SIGTERM'), 0)
    // Their output is closed a moment before they are gone.
    await until(() => !children.some(isAlive))
  })
})

test('a server with workers that cannot start reports the reason and ends with its exit code', async () => {
  using folder = new Folder()
  await using taken = await takePort()
  const settings = { ADIT_WORKERS: '2', ADIT_API_ADDR: `127.0.0.1:${taken.port}` }
  const { code, stderr } = await refused({ ADIT_DATA_DIR: folder.path, ...settings })
  assert.equal(code, 1)
  assert.match(stderr, /cannot listen on .*ADIT_API_ADDR.*another program uses it/)
})
