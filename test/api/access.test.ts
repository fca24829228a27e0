import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { suite, test } from 'node:test'
import { operations } from '#contract/operations.ts'
import { createResource, onEachStore } from '../support/each-store.ts'
import { newMember } from '../support/members.ts'
import { startServer } from '../support/server.ts'

const path = (template: string) =>
  template.replace(/\{(\w+)\}/g, (_, name) => (name === 'type' ? 'a.v0' : `x_${'0'.repeat(27)}`))

onEachStore('authentication', api => {
  const refusals: [string, Record<string, string>, number][] = [
    ['no header', {}, 200],
    ['another scheme', { authorization: 'Basic abc' }, 201],
    ['an empty token', { authorization: 'Bearer ' }, 201],
    ['a token with strange characters', { authorization: 'Bearer a b' }, 202],
    ['an unknown token', { authorization: `Bearer ${'a'.repeat(27)}_${'b'.repeat(43)}` }, 203],
    ['the id of a key', { authorization: `Bearer ak_${'0'.repeat(27)}` }, 208],
  ]
  for (const [title, headers, code] of refusals) {
    test(`refuses ${title} with 401`, async () => {
      const answer = await api().get('/api_keys', { token: null, headers })
      assert.deepEqual([answer.status, answer.body.error_code], [401, `ERR_ADIT_${code}`])
    })
  }

  test('distinguishes an authtoken from an API key', async () => {
    const credential = await createResource(api(), '/credentials', {})
    const answer = await api().get('/api_keys', { token: credential.token })
    assert.deepEqual([answer.status, answer.body.error_code], [401, 'ERR_ADIT_206'])
  })

  test('guards every operation', async () => {
    for (const operation of operations) {
      const answer = await api().call(operation.method, path(operation.path), { token: null })
      assert.equal(answer.status, 401, operation.id)
    }
    for (const each of ['/', '/self']) assert.equal((await api().get(each, { token: null })).status, 401)
  })

  test('ends with the key, on the next call', async () => {
    const key = await createResource(api(), '/api_keys', {})
    assert.equal((await api().get('/self', { token: key.token })).status, 200)
    assert.equal((await api().delete(`/api_keys/${key.id}`)).status, 204)
    assert.equal((await api().get('/self', { token: key.token })).body.error_code, 'ERR_ADIT_203')
  })

  test('ends with the owner, and pauses while the owner is not active', async () => {
    const bot = await createResource(api(), '/bot_users', { name: 'ci' })
    const key = await createResource(api(), '/api_keys', { owner_id: bot.id })
    assert.equal((await api().get('/self', { token: key.token })).body.user, bot.id)
    await api().patch(`/bot_users/${bot.id}`, { active: false })
    const paused = await api().get('/self', { token: key.token })
    assert.deepEqual([paused.status, paused.body.error_code], [403, 'ERR_ADIT_636'])
    await api().patch(`/bot_users/${bot.id}`, { active: true })
    assert.equal((await api().get('/self', { token: key.token })).status, 200)
    assert.equal((await api().delete(`/bot_users/${bot.id}`)).status, 204)
    assert.equal((await api().get('/self', { token: key.token })).status, 401)
    assert.equal((await api().get(`/api_keys/${key.id}`)).status, 404)
  })
})

onEachStore('roles', api => {
  test('let members do everything but manage users, restrictions and what others own', async () => {
    const { token } = await newMember(api())
    for (const operation of operations) {
      const answer = await api().call(operation.method, path(operation.path), {
        token,
        ...(operation.input && { body: {} }),
      })
      const forbidden = operation.kind.adminOnly === true
      assert.equal(answer.status === 403, forbidden, `${operation.id}: ${answer.status}`)
      if (forbidden) assert.equal(answer.body.error_code, 'ERR_ADIT_630')
    }
  })

  test('let bots do what members do, and no more', async () => {
    const bot = await createResource(api(), '/bot_users', { name: 'ci' })
    const { token } = await createResource(api(), '/api_keys', { owner_id: bot.id })
    assert.equal((await api().get('/users', { token })).status, 403)
    assert.equal((await api().post('/ip_policies', {}, { token })).status, 201)
    const escalated = await api().post(
      '/api_keys',
      { owner_id: (await api().get('/self')).body.user },
      { token },
    )
    assert.deepEqual([escalated.status, escalated.body.error_code], [403, 'ERR_ADIT_630'])
  })

  test('hide the keys and credentials of others from members', async () => {
    const { token, user, keyId } = await newMember(api())
    const ssh = {
      public_key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJRFsvkO4Q8OVQIXFfTQkfFCeYaOTn0pO3dVaTpVnIYw me',
    }
    for (const [collection, key, body] of [
      ['/api_keys', 'keys', {}],
      ['/credentials', 'credentials', {}],
      ['/ssh_credentials', 'ssh_credentials', ssh],
    ] as const) {
      const foreign = await createResource(api(), collection, body)
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        const answer = await api().call(method, `${collection}/${foreign.id}`, {
          token,
          ...(method === 'PATCH' && { body: {} }),
        })
        assert.equal(answer.status, 404, `${method} ${collection}`)
      }
      const own = (await api().get(collection, { token })).body[key]
      assert.ok(own.every((each: { owner_id: string }) => each.owner_id === user.id))
      assert.equal((await api().get(`${collection}/${foreign.id}`)).status, 200)
    }
    assert.equal((await api().get(`/api_keys/${keyId}`, { token })).status, 200)
    const mine = await api().post('/credentials', {}, { token })
    assert.equal(mine.body.owner_id, user.id)
  })

  test('never leave the server without an admin', async () => {
    const self = (await api().get('/self')).body.user
    for (const body of [{ role: 'member' }, { active: false }]) {
      const answer = await api().patch(`/users/${self}`, body)
      assert.deepEqual([answer.status, answer.body.error_code], [400, 'ERR_ADIT_90002'])
    }
    assert.equal((await api().delete(`/users/${self}`)).body.error_code, 'ERR_ADIT_90003')
    const other = await newMember(api(), 'admin')
    assert.equal(
      (await api().patch(`/users/${self}`, { role: 'member' }, { token: other.token })).status,
      200,
    )
    assert.equal((await api().get('/users')).status, 403, 'acts on the next call')
    assert.equal((await api().patch(`/users/${self}`, { role: 'admin' }, { token: other.token })).status, 200)
    assert.equal((await api().delete(`/users/${other.user.id}`)).status, 204)
    assert.equal((await api().get('/self', { token: other.token })).status, 401)
  })

  test('refuse the same e-mail address twice', async () => {
    await createResource(api(), '/users', { email: 'twin@example.com' })
    const twin = await api().post('/users', { email: 'TWIN@example.com' })
    assert.equal(twin.body.error_code, 'ERR_ADIT_90004')
  })
})

onEachStore('IP restrictions of type api', api => {
  const allow = async (cidr: string, action = 'allow') => {
    const policy = await createResource(api(), '/ip_policies', {})
    const rule = await createResource(api(), '/ip_policy_rules', { cidr, action, ip_policy_id: policy.id })
    return { policy, rule }
  }

  test('refuse to shut out the caller who makes them, unless they only warn', async () => {
    const elsewhere = await allow('192.0.2.0/24')
    const body = { type: 'api', enforced: true, ip_policy_ids: [elsewhere.policy.id] }
    const refused = await api().post('/ip_restrictions', body)
    assert.equal(refused.body.error_code, 'ERR_ADIT_90001')
    assert.match(refused.body.msg, /127\.0\.0\.1/)
    const warning = await createResource(api(), '/ip_restrictions', { ...body, enforced: false })
    assert.equal((await api().get('/self')).status, 200, 'a restriction that is not enforced only warns')
    assert.equal(
      (await api().patch(`/ip_restrictions/${warning.id}`, { enforced: true })).body.error_code,
      'ERR_ADIT_90001',
    )
    assert.equal((await api().delete(`/ip_restrictions/${warning.id}`)).status, 204)
  })

  test('refuse rules that would shut out the caller', async () => {
    const { policy, rule } = await allow('127.0.0.0/8')
    const restriction = await createResource(api(), '/ip_restrictions', {
      type: 'api',
      enforced: true,
      ip_policy_ids: [policy.id],
    })
    const deny = { cidr: '127.0.0.1/32', action: 'deny', ip_policy_id: policy.id }
    assert.equal((await api().post('/ip_policy_rules', deny)).body.error_code, 'ERR_ADIT_90001')
    assert.equal((await api().delete(`/ip_policy_rules/${rule.id}`)).body.error_code, 'ERR_ADIT_1419')
    assert.equal(
      (await api().patch(`/ip_policy_rules/${rule.id}`, { cidr: '10.0.0.0/8' })).body.error_code,
      'ERR_ADIT_90001',
    )
    assert.equal((await api().delete(`/ip_policies/${policy.id}`)).body.error_code, 'ERR_ADIT_1420')
    assert.equal((await api().get('/self')).status, 200)
    assert.equal((await api().delete(`/ip_restrictions/${restriction.id}`)).status, 204)
  })

  test('shut out others from the next call on, and only warn when not enforced', async () => {
    const statusFrom = (localAddress: string) =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${api().token}` }
        request(`${api().url}/self`, { localAddress, headers, agent: false }, answer => {
          answer.resume()
          resolve(answer.statusCode)
        })
          .on('error', reject)
          .end()
      })
    const { policy } = await allow('127.0.0.1/32')
    assert.equal(await statusFrom('127.0.0.2'), 200)
    const restriction = await createResource(api(), '/ip_restrictions', {
      type: 'api',
      enforced: true,
      ip_policy_ids: [policy.id],
    })
    assert.equal(await statusFrom('127.0.0.2'), 403)
    assert.equal(await statusFrom('127.0.0.1'), 200)
    await api().patch(`/ip_restrictions/${restriction.id}`, { enforced: false })
    assert.equal(await statusFrom('127.0.0.2'), 200)
    assert.equal((await api().delete(`/ip_restrictions/${restriction.id}`)).status, 204)
  })
})

test('each request of a connection is checked by its own headers', async () => {
  await using server = await startServer()
  const { api } = server
  const bot = await createResource(api, '/bot_users', { name: 'b' })
  const key = await createResource(api, '/api_keys', { owner_id: bot.id })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const list = (headers: Record<string, string>): Promise<string> => {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const asked = request(`${api.url}/api_keys`, { agent, headers }, async answer => {
      const { keys, uri, error_code: code } = JSON.parse(Buffer.concat(await answer.toArray()).toString())
      const shown = uri === undefined ? `${answer.statusCode} ${code}` : `${keys[0].owner_id} ${uri}`
      resolve(`${asked.reusedSocket ? 'again' : 'first'} ${shown}`)
    })
    asked.on('error', reject).end()
    return promise
  }
  const own = { authorization: `Bearer ${key.token}` }
  const uri = `${api.url}/api_keys`
  assert.equal(await list(own), `first ${bot.id} ${uri}`)
  assert.equal(await list(own), `again ${bot.id} ${uri}`)
  assert.equal(await list({ ...own, host: 'other.test' }), `again ${bot.id} http://other.test/api_keys`)
  assert.equal(await list({ authorization: 'Bearer a' }), 'again 401 ERR_ADIT_203')
  assert.equal(await list(own), `again ${bot.id} ${uri}`)
  assert.equal(await list({ ...own, host: 'a/b' }), 'again 400 undefined')
  // A rejected head ends its connection.
  assert.equal(await list(own), `first ${bot.id} ${uri}`)
  assert.equal(await list({ ...own, 'adit-version': '3' }), 'again 400 ERR_ADIT_217')
  assert.equal(await list(own), `first ${bot.id} ${uri}`)
  assert.equal((await api.delete(`/api_keys/${key.id}`)).status, 204)
  assert.equal(await list(own), 'again 401 ERR_ADIT_203')
  agent.destroy()
})

suite('the rate limit', () => {
  test('refuses the call after the last one of a minute, for each key alone', async () => {
    await using server = await startServer({ rate_limit: '5' })
    const other = (await server.api.post('/api_keys', {})).body.token
    for (let call = 2; call <= 5; call++) assert.equal((await server.api.get('/self')).status, 200)
    const refused = await server.api.get('/self')
    assert.deepEqual([refused.status, refused.body.error_code], [429, 'ERR_ADIT_226'])
    const wait = Number(refused.headers.get('retry-after'))
    assert.ok(wait >= 1 && wait <= 60)
    assert.equal((await server.api.get('/self', { token: other })).status, 200)
  })

  test('is off when it is 0', async () => {
    await using server = await startServer({ rate_limit: '0' })
    for (let call = 0; call < 150; call++) assert.equal((await server.api.get('/self')).status, 200)
  })
})
