import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { connect } from 'adit'
import { disposable } from '../agent/support.ts'
import { freePort } from '../support/free-ports.ts'
import { start } from './program.ts'
import { until } from '../support/until.ts'
import { Folder } from '../support/folder.ts'

async function visit(port: number, host: string): Promise<IncomingMessage> {
  const request = get({ host: '127.0.0.1', port, headers: { host }, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  await once(response.resume(), 'end')
  return response
}

const HOUR_MS = 3_600_000
const TOKEN = 'authtoken-for-the-test-of-expected-names'

// In each the gateway holds a request for some seconds, because the agent may come back.
suite('after a restart of the server', { concurrency: true }, () => {
  for (const [signal, workers] of [
    ['SIGTERM', '1'],
    ['SIGKILL', '1'],
    ['SIGTERM', '2'],
  ] as const)
    test(`by ${signal} with ${workers} gateway processes, names that were online answer 503`, async () => {
      using folder = new Folder()
      const [http, agents] = [await freePort(), await freePort()]
      const environment = {
        ADIT_DATA_DIR: folder.path,
        ADIT_AUTHTOKEN: TOKEN,
        ADIT_WORKERS: workers,
        ADIT_HTTP_ADDR: `127.0.0.1:${http}`,
        ADIT_AGENT_ADDR: `127.0.0.1:${agents}`,
      }
      await using before = await start(environment)
      const ca = join(folder.path, 'ca.pem')
      // One that does not come back within the test, so that nothing but the memory of the server answers.
      const retry = { baseMs: HOUR_MS, capMs: HOUR_MS, random: () => 1 }
      await using agent = disposable(
        await connect({ server: `127.0.0.1:${agents}`, authtoken: TOKEN, ca, retry }),
      )
      await agent.listen({ proto: 'http', domain: 'shop', forwardTo: 1 })
      const file = join(folder.path, 'online-names.json')
      await until(() => existsSync(file) && readFileSync(file, 'utf8').includes('shop'))
      await before.end(signal)
      await using after = await start(environment)
      assert.ok(after.url)
      const response = await visit(http, 'shop.adit.localhost')
      assert.equal(response.statusCode, 503)
      assert.match(response.headers['retry-after'] ?? '', /^\d+$/)
      assert.equal((await visit(http, 'never.adit.localhost')).statusCode, 404)
    })
})
