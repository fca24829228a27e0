import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { spawnServer, type Process } from '../support/server.ts'
import { until } from '../support/until.ts'
import { Folder } from '../support/folder.ts'

/** What came to a webhook, one request for each event. */
class Webhook implements AsyncDisposable {
  readonly ids: string[] = []
  readonly names: string[] = []
  /** Requests are taken, but not answered. */
  silent = false
  readonly #server = createServer(async (request, response) => {
    const event = JSON.parse(Buffer.concat(await request.toArray()).toString())
    this.ids.push(event.event_id)
    this.names.push(event.object.metadata)
    if (!this.silent) response.end()
  })

  static async start(): Promise<Webhook> {
    const webhook = new Webhook()
    webhook.#server.listen(0, '127.0.0.1')
    await once(webhook.#server, 'listening')
    return webhook
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`
  }

  /** Closes requests that wait for a response. */
  hangUp(): void {
    this.#server.closeAllConnections()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.hangUp()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

const KILLS = 3
const WRITES = 12

async function write(server: Process, from: number, count: number): Promise<void> {
  for (let n = from; n < from + count; n++) {
    const { status } = await server.api.post('/ip_policies', { metadata: String(n) })
    assert.equal(status, 201)
  }
}

test('nothing is lost by SIGKILL between commit and send, and little is sent twice (DUR-08)', async () => {
  using folder = new Folder()
  await using webhook = await Webhook.start()
  const environment = { ADIT_EGRESS_ALLOW: '127.0.0.0/8', ADIT_LOG_LEVEL: 'silent' }
  let server = await spawnServer(folder.path, environment)
  const { body: destination } = await server.api.post('/event_destinations', {
    target: { webhook: { url: webhook.url } },
  })
  await server.api.post('/event_subscriptions', {
    sources: [{ type: 'ip_policy_created.v0' }],
    destination_ids: [destination.id],
  })
  let written = 0
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      await write(server, written, WRITES)
      written += WRITES
      // The first time right after the last write, then while an event is on its way that gets no answer.
      if (kill > 0) {
        await until(() => new Set(webhook.ids).size === written)
        webhook.silent = true
        const before = webhook.ids.length
        await write(server, written, WRITES)
        written += WRITES
        await until(() => webhook.ids.length > before)
      }
      await server.end('SIGKILL')
      webhook.hangUp()
      webhook.silent = false
      server = await spawnServer(folder.path, environment)
    }
    await until(() => new Set(webhook.ids).size === written)
    await server.end('SIGTERM')
  } finally {
    if (server.child.exitCode === null && server.child.signalCode === null) await server.end('SIGKILL')
  }
  const expected = Array.from({ length: written }, (_, n) => String(n))
  assert.deepEqual([...new Set(webhook.names)], expected, 'each in the order of the writes')
  const counts = Map.groupBy(webhook.ids, id => id)
  for (const [id, times] of counts) assert.ok(times.length <= 1 + KILLS, `${id} came ${times.length} times`)
  assert.ok(webhook.ids.length - counts.size <= KILLS * 2 * WRITES, 'no more twice than was on its way')
})
