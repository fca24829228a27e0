import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { request } from 'node:https'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { createResource } from '../support/each-store.ts'
import { startPostgres } from '../support/postgres.ts'
import { spawnServer, type Process } from '../support/server.ts'
import { MANY_EVENTS } from './support.ts'
import { until } from '../support/until.ts'
import { Folder } from '../support/folder.ts'

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

async function killed(server: Process): Promise<void> {
  if (server.child.exitCode === null && server.child.signalCode === null) await server.end('SIGKILL')
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

/** Makes policies that differ in their metadata. */
async function write({ api }: Process, from: number, count: number): Promise<void> {
  for (let n = from; n < from + count; n++) await createResource(api, '/ip_policies', { metadata: String(n) })
}

/** A page of the gateway, made at one server. */
async function makePage({ api }: Process, domain: string): Promise<void> {
  await createResource(api, '/reserved_domains', { domain })
  const edge = await createResource(api, '/edges/https', { hostports: [`${domain}:443`] })
  const backend = await createResource(api, '/backends/http_response', { body: 'hello' })
  await createResource(api, `/edges/https/${edge.id}/routes`, {
    match_type: 'path_prefix',
    match: '/',
    backend: { backend_id: backend.id },
  })
}

// Each test continues where the previous one ended.
suite('two servers on one PostgreSQL', () => {
  const parts = new AsyncDisposableStack()
  let webhook: Awaited<ReturnType<typeof startWebhook>>
  let first: Process
  let second: Process
  let subscriptionId: string

  before(async () => {
    const postgres = parts.adopt(await startPostgres(), each => each.stop())
    webhook = parts.use(await startWebhook())
    const [here, there] = [parts.use(new Folder()), parts.use(new Folder())]
    const environment = {
      ADIT_DATABASE_URL: await postgres.newDatabase(),
      ADIT_EGRESS_ALLOW: '127.0.0.0/8',
      ADIT_LOG_LEVEL: 'silent',
    }
    first = parts.adopt(await spawnServer(here.path, environment), killed)
    for (const file of ['master.key', 'api-key']) copyFileSync(join(here.path, file), join(there.path, file))
    second = parts.adopt(await spawnServer(there.path, environment), killed)
  })
  after(() => parts.disposeAsync())

  test('have one leader that delivers', async () => {
    assert.deepEqual([await deliversHere(first), await deliversHere(second)], [true, false])
  })

  test('know both of a subscription that was made at one of them', async () => {
    const target = { webhook: { url: webhook.url } }
    const destination = await createResource(first.api, '/event_destinations', { target })
    const sources = ['ip_policy_created.v0', 'http_request_complete.v0'].map(type => ({ type }))
    const subscription = { sources, destination_ids: [destination.id] }
    subscriptionId = (await createResource(first.api, '/event_subscriptions', subscription)).id
    const { body } = await until(() => second.api.get('/event_deliveries'), {
      ...MANY_EVENTS,
      fits: answer => answer.body.event_deliveries.length > 0,
    })
    assert.equal(body.event_deliveries.length, 1)
  })

  test('deliver what happens at the gateway of the other one', async () => {
    await makePage(first, 'a.example.com')
    await until(() => visit(second, 'a.example.com').catch(() => 0), { fits: status => status === 200 })
    const isRequest = ({ event_type: type }: Came): boolean => type === 'http_request_complete.v0'
    assert.ok(await until(() => webhook.events.find(isRequest), MANY_EVENTS))
  })

  test('deliver all that happens at both, once, and in the order of each', async () => {
    await Promise.all([write(first, 0, 250), write(second, 250, 250)])
    const came = await until(() => metadataOf(webhook.events), {
      ...MANY_EVENTS,
      fits: all => all.length >= 500,
    })
    assert.equal(came.length, 500)
    assert.equal(new Set(came).size, 500)
    for (const isOne of [(n: number) => n < 250, (n: number) => n >= 250]) {
      const ofOne = came.map(Number).filter(isOne)
      assert.deepEqual(
        ofOne,
        ofOne.toSorted((left, right) => left - right),
      )
    }
  })

  test('lose nothing when the leader is killed, and repeat only events in flight', async () => {
    await write(first, 500, 10)
    await first.end('SIGKILL')
    await write(second, 510, 10)
    await until(() => new Set(metadataOf(webhook.events)).size, {
      ...MANY_EVENTS,
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
  })

  test('drop a subscription that is deleted at the remaining one', async () => {
    assert.equal((await second.api.delete(`/event_subscriptions/${subscriptionId}`)).status, 204)
    const { body } = await until(() => second.api.get('/event_deliveries'), {
      fits: answer => answer.body.event_deliveries.length === 0,
    })
    assert.deepEqual(body.event_deliveries, [])
    assert.equal(await second.end('SIGTERM'), 0)
  })
})
