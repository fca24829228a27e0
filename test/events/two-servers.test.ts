import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { request } from 'node:https'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { Folder } from '../server/program.ts'
import { made } from '../support/each-store.ts'
import { startPostgres } from '../support/postgres.ts'
import { spawnServer, type Process } from '../support/server.ts'
import { MANY } from './support.ts'
import { until } from '../support/until.ts'

interface Came {
  readonly event_id: string
  readonly event_type: string
  readonly object: { readonly metadata?: string; readonly conn?: unknown }
}

/** What came to a webhook, one request for each event. */
async function startWebhook() {
  const events: Came[] = []
  const server = createServer(async (asked, answer) => {
    events.push(JSON.parse(Buffer.concat(await asked.toArray()).toString()) as Came)
    answer.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    events,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const metadataOf = (events: readonly Came[]): string[] =>
  events.flatMap(({ object }) => object.metadata ?? [])

async function deliversHere(server: Process): Promise<boolean> {
  const metrics = await (await fetch(`${server.api.url}/metrics`)).text()
  return /^adit_event_delivers 1$/m.test(metrics)
}

/** Asks the gateway of a server for a page. */
async function visit(server: Process, host: string): Promise<number> {
  const { port } = server.bound.https ?? {}
  const asked = request({
    host: '127.0.0.1',
    port,
    servername: host,
    rejectUnauthorized: false,
    agent: false,
    headers: { host },
  })
  asked.end()
  const [answer] = await once(asked, 'response')
  answer.resume()
  return answer.statusCode
}

test('two servers on one PostgreSQL deliver as one, and one alone when the other is killed', async () => {
  using here = new Folder()
  using there = new Folder()
  await using webhook = await startWebhook()
  const postgres = await startPostgres()
  const environment = {
    ADIT_DATABASE_URL: await postgres.newDatabase(),
    ADIT_EGRESS_ALLOW: '127.0.0.0/8',
    ADIT_LOG_LEVEL: 'silent',
  }
  const servers: Process[] = []
  try {
    const first = await spawnServer(here.path, environment)
    servers.push(first)
    for (const file of ['master.key', 'api-key']) copyFileSync(join(here.path, file), join(there.path, file))
    const second = await spawnServer(there.path, environment)
    servers.push(second)
    assert.deepEqual([await deliversHere(first), await deliversHere(second)], [true, false])

    // Made at one, and what happens at the gateway of the other leaves from there.
    const destination = await made(first.api, '/event_destinations', {
      target: { webhook: { url: webhook.url } },
    })
    const sources = ['ip_policy_created.v0', 'http_request_complete.v0'].map(type => ({ type }))
    const subscription = await made(first.api, '/event_subscriptions', {
      sources,
      destination_ids: [destination.id],
    })
    await until(() => second.api.get('/event_deliveries'), {
      ...MANY,
      fits: ({ body }) => body.event_deliveries.length === 1,
    })
    await made(first.api, '/reserved_domains', { domain: 'a.example.com' })
    const edge = await made(first.api, '/edges/https', { hostports: ['a.example.com:443'] })
    const backend = await made(first.api, '/backends/http_response', { body: 'hello' })
    await made(first.api, `/edges/https/${edge.id}/routes`, {
      match_type: 'path_prefix',
      match: '/',
      backend: { backend_id: backend.id },
    })
    await until(() => visit(second, 'a.example.com').catch(() => 0), {
      ...MANY,
      fits: status => status === 200,
    })
    await until(async () => webhook.events, {
      ...MANY,
      fits: events => events.some(({ event_type }) => event_type === 'http_request_complete.v0'),
    })

    const write = async ({ api }: Process, from: number, count: number): Promise<void> => {
      for (let n = from; n < from + count; n++) await made(api, '/ip_policies', { metadata: String(n) })
    }
    await Promise.all([write(first, 0, 250), write(second, 250, 250)])
    await until(async () => metadataOf(webhook.events), { ...MANY, fits: came => came.length >= 500 })
    const came = metadataOf(webhook.events)
    assert.equal(came.length, 500)
    assert.equal(new Set(came).size, 500)
    for (const isOne of [(n: number) => n < 250, (n: number) => n >= 250]) {
      const ofOne = came.map(Number).filter(isOne)
      assert.deepEqual(
        ofOne,
        ofOne.toSorted((left, right) => left - right),
      )
    }

    await write(first, 500, 10)
    await first.end('SIGKILL')
    await write(second, 510, 10)
    await until(async () => new Set(metadataOf(webhook.events)).size, {
      ...MANY,
      fits: count => count === 520,
    })
    const later = [...new Set(metadataOf(webhook.events).slice(500))]
    assert.deepEqual(
      later,
      Array.from({ length: 20 }, (_, n) => String(500 + n)),
    )
    const policies = metadataOf(webhook.events).length
    assert.ok(policies <= 530, `${policies} came, and ten can have been on their way`)
    assert.equal(await deliversHere(second), true)
    assert.equal((await second.api.delete(`/event_subscriptions/${subscription.id}`)).status, 204)
    await until(() => second.api.get('/event_deliveries'), {
      ...MANY,
      fits: ({ body }) => body.event_deliveries.length === 0,
    })
    await second.end('SIGTERM')
  } finally {
    for (const server of servers)
      if (server.child.exitCode === null && server.child.signalCode === null) await server.end('SIGKILL')
    await postgres.stop()
  }
})
