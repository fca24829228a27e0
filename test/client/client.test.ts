import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import { createClient } from '#client/client.ts'
import { ApiError } from '#client/errors.ts'
import type { Client } from '#client/types.ts'
import { operations } from '#contract/operations.ts'
import { startServer, type TestServer } from '../support/server.ts'

suite('client', () => {
  let server: TestServer
  let client: Client

  before(async () => {
    server = await startServer()
    client = createClient({ url: server.api.url, token: server.api.token })
  })
  after(() => server[Symbol.asyncDispose]())

  test('has a method for every operation and calls its address', async () => {
    const seen: string[] = []
    const recorded = createClient({
      url: 'http://api.test/',
      token: 'secret',
      fetch: async (address, init) => {
        seen.push(`${init?.method ?? ''} ${address as string}`)
        return new Response('{}')
      },
    })
    const methods = recorded as unknown as Record<
      string,
      Record<string, (...args: string[]) => Promise<unknown>>
    >
    for (const { collection, word, params, method, path } of operations) {
      await methods[collection]?.[word]?.(...params)
      assert.equal(seen.pop(), `${method} http://api.test${path.replaceAll(/[{}]/g, '')}`)
    }
  })

  test('takes a resource through its life', async () => {
    const policy = await client.ip_policies.create({ description: 'office' })
    const restriction = await client.ip_restrictions.create({ type: 'agent', ip_policy_ids: [policy.id] })
    assert.deepEqual(restriction.ip_policies, [{ id: policy.id, uri: policy.uri }])
    const changed = await client.ip_restrictions.update(restriction.id, { enforced: true })
    assert.equal(changed.enforced, true)
    assert.deepEqual(await client.ip_restrictions.get(restriction.id), changed)
    assert.deepEqual((await client.ip_restrictions.list()).items, [changed])
    assert.equal(await client.ip_restrictions.delete(restriction.id), undefined)
    await assert.rejects(client.ip_restrictions.get(restriction.id), { status: 404 })
  })

  test('sets, reads and removes modules', async () => {
    const backend = await client.http_response_backends.create({ body: 'hello' })
    const edge = await client.tcp_edges.create({})
    const set = await client.tcp_edges.replace_backend(edge.id, { backend_id: backend.id })
    assert.equal(set.backend?.id, backend.id)
    assert.deepEqual(await client.tcp_edges.get_backend(edge.id), set)
    await client.tcp_edges.delete_backend(edge.id)
    assert.equal((await client.tcp_edges.get(edge.id)).backend, null)
  })

  test('takes the parents of a resource first', async () => {
    const edge = await client.https_edges.create({})
    const route = await client.https_edge_routes.create(edge.id, { match_type: 'path_prefix', match: '/' })
    await client.https_edge_routes.replace_compression(edge.id, route.id, {})
    const [read] = (await client.https_edges.get(edge.id)).routes
    assert.equal(read?.compression?.enabled, true)

    const destination = await client.event_destinations.create({ target: { debug: {} } })
    const subscription = await client.event_subscriptions.create({ destination_ids: [destination.id] })
    const type = 'ip_policy_created.v0'
    await client.event_sources.create(subscription.id, { type })
    assert.equal((await client.event_sources.get(subscription.id, type)).type, type)
    assert.equal((await Array.fromAsync(client.event_sources.all(subscription.id))).length, 1)
  })

  test('reads what exists once', async () => {
    const { subresource_uris: uris } = await client.root()
    assert.equal(uris['ip_policies'], `${server.api.url}/ip_policies`)
    const { account, api_key: key } = await client.self()
    assert.equal(account.suspended, false)
    assert.match(key?.id ?? '', /^ak_/)
  })

  test('walks more resources than a page holds, newest first', async () => {
    const made: string[] = []
    for (let count = 0; count < 205; count++)
      made.push((await client.bot_users.create({ name: `${count}` })).id)
    const walked = await Array.fromAsync(client.bot_users.all())
    assert.deepEqual(
      walked.map(({ id }) => id),
      made.toReversed(),
    )

    const { items, next } = await client.bot_users.list({ limit: 2 })
    assert.equal(items.length, 2)
    assert.deepEqual(next, { limit: 2, before_id: items[1]?.id })
    assert.equal((await client.bot_users.list(next)).items[0]?.id, made.at(-3))
  })

  test('requests the next page at its own address, whatever the public name of the server', async () => {
    await using named = await startServer({ api_url: 'https://api.example.com' })
    const { bot_users: bots } = createClient({ url: named.api.url, token: named.api.token })
    for (let count = 0; count < 3; count++) await bots.create({})
    assert.equal((await Array.fromAsync(bots.all({ limit: 1 }))).length, 3)
  })

  test('reports why it was refused', async () => {
    const error = await client.ip_policy_rules
      .create({ ip_policy_id: 'ipp_x', cidr: 'nonsense', action: 'allow' })
      .catch((reason: unknown) => reason)
    assert.ok(error instanceof ApiError)
    assert.equal(error.status, 400)
    assert.match(error.message, /\w/)
    assert.match(error.code ?? '', /^ERR_ADIT_\d+$/)
    assert.match(error.operationId ?? '', /^\w+$/)
    assert.ok(error.field === 'cidr' || error.field === 'ip_policy_id')

    const stranger = createClient({ url: server.api.url, token: 'unknown' })
    await assert.rejects(stranger.self(), { name: 'ApiError', status: 401 })
  })

  test('refuses ids that would change the address', async () => {
    for (const id of ['', '.', '..']) await assert.rejects(client.ip_policies.get(id), TypeError)
    await assert.rejects(client.ip_policies.get('../self'), { status: 404 })
    await assert.rejects(client.ip_policies.get('x?limit=1'), { status: 404 })
  })

  test('offers only what a kind has', () => {
    const offered = () => {
      // @ts-expect-error -- tunnels are made by agents
      void client.tunnels.create({})
      // @ts-expect-error -- and ended by them
      void client.tunnels.delete('tn_1')
      // @ts-expect-error -- reports cannot be listed
      void client.abuse_reports.all()
      // @ts-expect-error -- TCP edges have no such module
      void client.tcp_edges.replace_oauth('edgtcp_1', {})
      // @ts-expect-error -- a route belongs to an edge
      void client.https_edge_routes.get('edghtsrt_1')
      // @ts-expect-error -- a type must be given
      void client.ip_restrictions.create({ ip_policy_ids: [] })
      // @ts-expect-error -- and cannot change
      void client.ip_restrictions.update('ipx_1', { type: 'api' })
      // @ts-expect-error -- sources come whole, not in pages
      void client.event_sources.list('esb_1', { limit: 1 })
      // @ts-expect-error -- an action takes no body
      void client.tunnel_sessions.update('ts_1', {})
      void client.tunnel_sessions.stop('ts_1')
    }
    assert.equal(typeof offered, 'function')
    assert.equal('create' in client.tunnels, false)
    assert.equal('all' in client.abuse_reports, false)
  })

  test('runs in a browser: it imports only the contract, which does', () => {
    const files = globSync('src/client/*.ts')
    assert.ok(files.length > 3)
    for (const file of files) {
      for (const [, from = ''] of readFileSync(file, 'utf8').matchAll(/\sfrom '([^']+)'/g))
        assert.match(from, /^#(?:client|contract)\//, file)
    }
  })
})
