import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { World } from '../edges/world.ts'
import { spawnServer, type Process } from '../../support/server.ts'
import { firstProcessOf, workersOf } from '../../support/processes.ts'
import { until } from '../../support/until.ts'
import { Folder } from '../../support/folder.ts'

const PRELOAD = pathToFileURL(join(import.meta.dirname, 'uncaught-preload.ts')).href

async function startWorld(folder: Folder, environment: Record<string, string> = {}) {
  const process = await spawnServer(folder.path, { NODE_OPTIONS: `--import=${PRELOAD}`, ...environment })
  const { api, bound } = process
  const authtoken = readFileSync(join(folder.path, 'authtoken'), 'utf8').trim()
  const world = new World({
    api,
    bound,
    authtoken,
    dataDir: folder.path,
    [Symbol.asyncDispose]: () => stop(process),
  })
  return { process, world, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

async function stop(process: Process): Promise<void> {
  const { exitCode, signalCode } = process.child
  if (exitCode === null && signalCode === null) await process.end('SIGKILL')
}

/** The value of the counter over all processes. */
async function uncaughtIn(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^adit_uncaught_errors_total (\d+)$/m.exec(text)?.[1])
}

interface Reported {
  readonly status: string
  readonly reasons?: readonly { readonly code: string; readonly message: string }[]
}

suite('an uncaught error', () => {
  for (const workers of [1, 2])
    test(`leaves tunnels and API served, and is reported, with ADIT_WORKERS=${workers}`, async () => {
      using folder = new Folder()
      await using running = await startWorld(folder, { ADIT_WORKERS: String(workers) })
      const { process: server, world } = running
      const { api } = server
      const agent = await world.agent()
      const service = await world.service((_, response) => response.end('here'))
      const tunnel = await agent.listen({ proto: 'https', forwardTo: service })
      const host = new URL(tunnel.url ?? '').hostname
      assert.deepEqual((await api.get('/readyz')).body, { status: 'ready' })

      const pid = server.child.pid ?? 0
      const victims = workers === 1 ? [pid] : [firstProcessOf(pid) ?? 0, ...workersOf(pid)]
      assert.equal(victims.length, workers === 1 ? 1 : 3)
      for (const victim of victims) process.kill(victim, 'SIGURG')

      const expected = 2 * victims.length
      const { body } = await until(() => api.get('/readyz'), {
        fits: answer => JSON.stringify(answer.body).includes(`${expected} uncaught errors`),
      })
      const { status, reasons = [] } = body as Reported
      assert.equal(status, 'degraded')
      assert.deepEqual(
        reasons.map(({ code }) => code),
        ['uncaught_error'],
      )
      assert.equal((await api.get('/readyz')).status, 200)
      assert.equal(await uncaughtIn(api.url), expected)
      for (let count = 0; count < 8; count++) {
        const got = await world.ask(host)
        assert.deepEqual([got.status, got.text], [200, 'here'])
      }
      assert.equal((await api.post('/ip_policies')).status, 201)
      // What it writes can be read later than what the API answers.
      await until(() => server.output(), {
        fits: output => /uncaught error; the server continues/.test(output),
      })
      await until(() => server.output(), { fits: output => /injected (exception|rejection)/.test(output) })
      if (workers > 1) assert.deepEqual(workersOf(pid), victims.slice(1), 'no worker was started again')
    })
})
