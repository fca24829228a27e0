import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { secretText } from '../../../support/secrets.ts'
import { GuardedEdge, HOST, each } from './guarded-edge.ts'
import { fieldsIn, head, sent, session, streamed } from './support.ts'

const GATED = 'gated.adit.localhost'
const basic = (login: string): string => `Basic ${Buffer.from(login).toString('base64')}`
const LOGIN = `ann:${secretText('password')}`
const GOOD = basic(LOGIN)
const BAD = basic('eve:guess')

suite('authentication cannot be bypassed', () => {
  let edge: GuardedEdge

  before(async () => {
    edge = await GuardedEdge.start()
    const agent = await edge.world.agent()
    const forwardTo = `127.0.0.1:${edge.secret.port}`
    await agent.listen({ proto: 'https', domain: GATED, forwardTo, basicAuth: [LOGIN] })
  })
  after(() => edge[Symbol.asyncDispose]())

  const status = async (lines: string, target = '/', method = 'GET', rest = ''): Promise<number> =>
    (await sent(edge.world, GATED, head(target, GATED, lines, method) + rest)).status

  test('SEC-09 the password is read from Authorization only', async () => {
    const chunked = 'Transfer-Encoding: chunked\r\n'
    const refused = {
      'no credential': await status(''),
      'a wrong one': await status(`Authorization: ${BAD}\r\n`),
      'the right one for a proxy': await status(`Proxy-Authorization: ${GOOD}\r\n`),
      'a wrong one and the right one for a proxy': await status(
        `Proxy-Authorization: ${GOOD}\r\nAuthorization: ${BAD}\r\n`,
      ),
      'the right one, then a wrong one': await status(`Authorization: ${GOOD}\r\nAuthorization: ${BAD}\r\n`),
      'a wrong one, then the right one': await status(`Authorization: ${BAD}\r\nAuthorization: ${GOOD}\r\n`),
      'the right one twice': await status(`Authorization: ${GOOD}\r\nAuthorization: ${GOOD}\r\n`),
      'both in one': await status(`Authorization: ${BAD}, ${GOOD}\r\n`),
      'under another name': await status(`X-Authorization: ${GOOD}\r\nCookie: authorization=${GOOD}\r\n`),
      'in the query': await status('', `/?authorization=${encodeURIComponent(GOOD)}`),
    }
    for (const [name, found] of Object.entries(refused)) assert.equal(found, 401, name)
    const broken = {
      'in the address': await status('', `https://${LOGIN}@${GATED}/`),
      'in a name with an underscore': await status(`Proxy_Authorization: ${GOOD}\r\n`),
    }
    for (const [name, found] of Object.entries(broken)) assert.equal(found, 400, name)
    assert.equal(
      await status(chunked, '/', 'POST', `0\r\nAuthorization: ${GOOD}\r\n\r\n`),
      401,
      'in a trailer',
    )
    assert.deepEqual(edge.secret.taken(), [])
  })

  test('SEC-09 the same holds over HTTP/2', async () => {
    using made = await session(edge.world, GATED)
    const at = async (fields: Record<string, string | string[]>): Promise<number> =>
      (await streamed(made, { ':path': '/', ':authority': GATED, ...fields })).status
    for (const fields of [
      {},
      { 'proxy-authorization': GOOD },
      { authorization: BAD, 'proxy-authorization': GOOD },
      { authorization: `${GOOD}, ${BAD}` },
    ])
      assert.equal(await at(fields), 401)
    assert.deepEqual(edge.secret.taken(), [])
    assert.equal(await at({ authorization: GOOD }), 200)
    edge.secret.taken()
  })

  test('SEC-09 a valid password is not forwarded to the service', async () => {
    assert.equal(await status(`Authorization: ${GOOD}\r\nConnection: authorization\r\n`), 400)
    assert.deepEqual(edge.secret.taken(), [])
    assert.equal(await status(`Authorization: ${GOOD}\r\n`), 200)
    const [request = ''] = edge.secret.taken()
    assert.equal(new Map(fieldsIn(request)).get('authorization'), undefined)
    assert.ok(!request.includes(GOOD.slice(6)))
  })

  test('SEC-09 the API changes the resource of the path, whatever the body names', async () => {
    const { world } = edge
    const { api } = world.server
    const [mine, other] = [await world.make('/ip_policies', {}), await world.make('/ip_policies', {})]
    for (const body of [
      { id: other.id, description: 'changed' },
      { description: 'changed', uri: `/ip_policies/${other.id}` },
    ])
      await api.patch(`/ip_policies/${mine.id}?id=${other.id}`, body)
    assert.equal((await api.get(`/ip_policies/${other.id}`)).body.description, '')
    const [first, second] = [await world.make('/edges/https'), await world.make('/edges/https')]
    const route = await world.route(second.id, '/', undefined)
    const at = `/edges/https/${first.id}/routes/${route}`
    const bodies = [{ description: 'x' }, { edge_id: second.id, description: 'x' }]
    for (const body of bodies) assert.equal((await api.patch(at, body)).status, 404)
    assert.equal((await api.put(`${at}/compression`, { edge_id: second.id })).status, 404)
    assert.equal((await api.delete(at)).status, 404)
    const kept = (await api.get(`/edges/https/${second.id}/routes/${route}`)).body
    assert.deepEqual([kept.description, kept.compression], ['', null])
  })

  /** Requests that other gateways have forwarded, or that pretend to be something else. */
  const magic: readonly (readonly [lines: string, target?: string | undefined, method?: string])[] = [
    ...[
      'GoogleHC/1.0',
      'kube-probe/1.30',
      'ELB-HealthChecker/2.0',
      'Amazon-Route53-Health-Check-Service',
      'Prometheus/2.50',
      'Adit',
      'adit-health',
      'ngrok',
      'Googlebot/2.1',
      'curl/8.0',
      '',
    ].map(agent => [`User-Agent: ${agent}\r\n`] as const),
    ...[
      '/healthz',
      '/health',
      '/ping',
      '/ready',
      '/robots.txt',
      '/favicon.ico',
      '/.well-known/acme-challenge/x',
    ].map(path => ['', path] as const),
    ...['HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE', 'PATCH', 'PROPFIND', 'BREW'].map(
      method => ['', undefined, method] as const,
    ),
    ...[
      'X-Forwarded-For: 192.0.2.1',
      'X-Real-IP: 192.0.2.1',
      'True-Client-IP: 192.0.2.1',
      'CF-Connecting-IP: 192.0.2.1',
      'X-Client-IP: 127.0.0.1',
      'Forwarded: for=192.0.2.1',
      'X-Original-URL: /open',
      'X-Rewrite-URL: /open',
      'X-HTTP-Method-Override: OPTIONS',
      'X-Forwarded-Uri: /open',
      'X-Forwarded-Prefix: /open',
      'X-Forwarded-User: ann',
      'X-Auth-Request-User: ann',
      'Adit-Auth-User-Id: ann',
      'Ngrok-Skip-Browser-Warning: 1',
      'X-Health-Check: 1',
      'Purpose: prefetch',
      'Sec-Fetch-Mode: no-cors',
      'Access-Control-Request-Method: GET',
      'Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
      'Upgrade: h2c\r\nHTTP2-Settings: AAAA\r\nConnection: upgrade, http2-settings',
      'Referer: https://idp.adit.localhost/oauth2/callback',
      'Origin: null',
      'Range: bytes=0-0',
      'Via: 1.1 adit',
    ].map(line => [`${line}\r\n`] as const),
  ]

  test('SEC-10 no user agent, path, method or field opens a protected route', async () => {
    await each(magic, async ([lines, path = '', method]) => {
      const answer = await sent(edge.world, HOST, head(`/admin${path}`, HOST, lines, method))
      assert.equal(answer.status, 403, `${method} ${path} ${lines}`)
      assert.equal(await status(lines, path || '/', method), 401, `${method} ${path} ${lines}`)
    })
    assert.deepEqual(edge.secret.taken(), [])
  })

  test('SEC-10 health and metrics are not served on client listeners', async () => {
    const { api } = edge.world.server
    for (const path of ['/healthz', '/readyz']) assert.equal((await api.get(path)).status, 200)
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      assert.equal((await sent(edge.world, '', head(path, '127.0.0.1'))).status, 404)
      assert.equal((await sent(edge.world, HOST, head(path, HOST))).text, 'open')
      assert.equal(edge.open.taken()[0]?.split(' ')[1], path)
    }
  })
})
