import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { issue } from '../../../support/openssl.ts'
import { World } from '../world.ts'
import { head, readAnswer, secured, sent, sentPlain, session, streamed } from './support.ts'
import { until } from '../../../support/until.ts'
import { Folder } from '../../../support/folder.ts'

const ONE = 'one.example.test'
const TWO = 'two.example.test'
const SHARED = 'shared.one.example.test'
const IDN = 'xn--bcher-kva.example.test'
const MISDIRECTED = [421, 'ERR_ADIT_90037']

/** Two edges of two owners, and a tunnel; one edge has a second name. */
suite('a host', () => {
  let world: World

  before(async () => {
    world = await World.start()
    for (const [names, text] of [
      [[ONE, SHARED], 'one'],
      [[TWO], 'two'],
      [[IDN], 'books'],
    ] as const)
      await world.route(await world.edge(names), '/', await world.fixedResponse(text))
    const agent = await world.agent()
    const forwardTo = await world.service((_, response) => response.end('tunnel'))
    await agent.listen({ proto: 'https', domain: 't.adit.localhost', forwardTo })
  })
  after(() => world[Symbol.asyncDispose]())

  const plainly = async (bytes: string) =>
    readAnswer(await sentPlain(world.server.bound.http?.port ?? 0, bytes))
  const asked = async (serverName: string | undefined, host: string) => {
    const { status, code, text } = await world.ask(host, { serverName: serverName ?? '' })
    return status === 200 ? text : [status, code]
  }

  test('SEC-11 is the same in any case, with a trailing dot and with a port', async () => {
    for (const [name, text] of [
      [ONE, 'one'],
      [IDN, 'books'],
    ] as const)
      for (const host of [name, name.toUpperCase(), `${name}.`, `${name}:443`, `${name}.:8443`, `${name}:1`])
        assert.equal((await sent(world, name, head('/', host))).text, text, host)
  })

  test('SEC-11 that is missing, invalid or repeated is rejected before routing', async () => {
    const odd = [
      '',
      ' ',
      `${ONE}@evil.test`,
      `evil.test@${ONE}`,
      `${ONE}/`,
      `${ONE}/../evil.test`,
      `${ONE}?`,
      `${ONE}#`,
      `${ONE}:`,
      `${ONE}:0`,
      `${ONE}:99999`,
      `${ONE}:443:443`,
      `${ONE}:-1`,
      `${ONE},evil.test`,
      `${ONE} evil.test`,
      `${ONE}\tx`,
      `${ONE}..`,
      `.${ONE}`,
      `${ONE}%00.evil.test`,
      `${ONE}\0`,
      `*.example.test`,
      `b\xfccher.example.test`,
      `b%C3%BCcher.example.test`,
      '[::1',
      '[::1]x',
      '<script>alert(1)</script>',
      `${'a'.repeat(300)}.test`,
    ]
    for (const host of odd) assert.equal((await sent(world, ONE, head('/', host))).status, 400, host)
    const twice = head('/', ONE, `Host: ${TWO}\r\n`)
    assert.equal((await sent(world, ONE, twice)).status, 400)
    assert.equal((await sent(world, ONE, head(`https://${TWO}/`, ONE))).status, 400)
    assert.equal((await sent(world, ONE, head(`https://${ONE}/`, TWO))).status, 400)
  })

  test('SEC-11 is not taken from other fields', async () => {
    const fields = [
      'X-Forwarded-Host',
      'X-Host',
      'X-Original-Host',
      'X-Forwarded-Server',
      'X-HTTP-Host-Override',
    ]
    const lines = fields.map(name => `${name}: ${TWO}\r\n`).join('')
    for (const more of [lines, `Forwarded: host=${TWO}\r\n`, `X-Original-URL: https://${TWO}/\r\n`])
      assert.equal((await sent(world, ONE, head('/', ONE, more))).text, 'one')
  })

  test('SEC-11 without an endpoint gets an error page and no redirect, whatever its name', async () => {
    for (const host of ['evil.test', `${ONE}.evil.test`, `x.${ONE}`, '127.0.0.1', '[::1]', 'localhost']) {
      const lines = 'Accept: text/html\r\n'
      const answers = [
        await sent(world, /^[[\d]/.test(host) ? '' : host, head('//evil.test/<b>', host, lines)),
        await plainly(head('//evil.test/<b>', host, lines)),
      ]
      for (const { status, headers, text } of answers) {
        assert.equal(status, 404, host)
        assert.equal(headers.get('location'), undefined)
        assert.equal(headers.get('set-cookie'), undefined)
        assert.doesNotMatch(text, /<b>|href|<script/)
      }
    }
  })

  test('SEC-11 with another port is redirected to the port of the listener', async () => {
    for (const port of ['', ':80', ':6666']) {
      const { status, headers } = await plainly(head('/x', `${ONE.toUpperCase()}.${port}`))
      const location = headers.get('location')
      assert.deepEqual([status, location], [308, `https://${ONE}:${world.server.bound.https?.port}/x`])
    }
  })

  test('SEC-12 of another edge or tunnel than the handshake named is misdirected', async () => {
    const names = [ONE, TWO, 't.adit.localhost', 'unknown.test', 'unknown.adit.localhost']
    const owner = (name: string): string => (name.startsWith('unknown') ? 'unknown' : name)
    for (const serverName of names)
      for (const host of names) {
        const found = await asked(serverName, host)
        if (owner(serverName) !== owner(host)) assert.deepEqual(found, MISDIRECTED, `${serverName} ${host}`)
        else assert.notDeepEqual(found, MISDIRECTED)
      }
    assert.equal(await asked(ONE, SHARED), 'one')
    assert.equal(await asked(SHARED, ONE), 'one')
  })

  test('SEC-12 of another edge is misdirected on a connection with earlier valid requests', async () => {
    const socket = await secured(world, { servername: ONE })
    const keep = `GET / HTTP/1.1\r\nHost: ${ONE}\r\n\r\n`
    socket.end(keep + head('/', TWO))
    let text = ''
    for await (const bytes of socket) text += String(bytes)
    assert.match(text, /^HTTP\/1\.1 200 [^]*one[^]*HTTP\/1\.1 421 /)
  })

  test('SEC-12 of another edge is misdirected on a shared HTTP/2 connection, which stays open', async () => {
    using made = await session(world, ONE)
    const at = (authority: string) => streamed(made, { ':path': '/', ':authority': authority })
    assert.equal((await at(ONE)).text, 'one')
    for (const host of [
      TWO,
      't.adit.localhost',
      'unknown.test',
      `${TWO}.`,
      TWO.toUpperCase(),
      `${TWO}:443`,
    ]) {
      const { status, headers } = await at(host)
      assert.deepEqual([status, headers.get('adit-error-code')], MISDIRECTED, host)
    }
    assert.equal((await streamed(made, { ':path': '/', host: TWO })).status, 421)
    assert.equal((await at(SHARED)).text, 'one')
    const both = await streamed(made, { ':path': '/', ':authority': ONE, host: TWO })
    assert.equal(both.status, 400)
  })

  test('SEC-12 that was not sent in the handshake gets a certificate without tenant names', async () => {
    for (const servername of ['', 'unknown.test', 'a_b.test']) {
      const socket = await secured(world, { servername })
      const names = String(socket.getPeerX509Certificate()?.subjectAltName)
      socket.end()
      assert.match(names, /DNS:\*\.adit\.localhost/)
      assert.doesNotMatch(names, /example\.test|t\.adit/)
    }
    const socket = await secured(world, { servername: ONE })
    assert.equal(socket.getPeerX509Certificate()?.subjectAltName, `DNS:${ONE}`)
    socket.end()
  })

  test('SEC-12 under the same certificate is still served by its own edge only', async () => {
    using folder = new Folder()
    const names = ['a', 'b'].map(letter => `${letter}.wild.example.test`)
    const { certificate, key } = await issue(folder, {
      name: 'wild',
      extensions: ['basicConstraints=critical,CA:FALSE', 'subjectAltName=DNS:*.wild.example.test'],
    })
    const uploaded = await world.make('/tls_certificates', {
      certificate_pem: certificate,
      private_key_pem: key,
    })
    for (const domain of names) {
      await world.make('/reserved_domains', { domain, certificate_id: uploaded.id })
      const edge = await world.make('/edges/https', { hostports: [`${domain}:443`] })
      await world.route(edge.id, '/', await world.fixedResponse(domain))
    }
    const [a = '', b = ''] = names
    await until(() => asked(b, b), { fits: found => found === b })
    using made = await session(world, a)
    assert.equal((await streamed(made, { ':path': '/', ':authority': a })).text, a)
    assert.equal((await streamed(made, { ':path': '/', ':authority': b })).status, 421)
    const socket = await secured(world, { servername: b })
    assert.equal(socket.getPeerX509Certificate()?.subjectAltName, 'DNS:*.wild.example.test')
    socket.end()
  })

  // That a name belongs to who reserves it is proved where certificates are issued, which is not here.
  test('SEC-13 is served by its own edge before wildcards above it, the nearest of those first', async () => {
    const made = new Map<string, string>()
    for (const name of ['*.w.example.test', '*.b.w.example.test', 'a.w.example.test', 'a.b.w.example.test']) {
      made.set(name, await world.edge([name]))
      await world.route(made.get(name) ?? '', '/', await world.fixedResponse(name))
    }
    const expected = {
      'a.w.example.test': 'a.w.example.test',
      'z.w.example.test': '*.w.example.test',
      'a.b.w.example.test': 'a.b.w.example.test',
      'z.b.w.example.test': '*.b.w.example.test',
      'x.a.w.example.test': '*.w.example.test',
      'y.x.b.w.example.test': '*.b.w.example.test',
    }
    for (const [host, text] of Object.entries(expected)) assert.equal(await asked(host, host), text, host)
    assert.deepEqual(await asked('w.example.test', 'w.example.test'), [404, 'ERR_ADIT_3200'])
    assert.deepEqual(await asked('z.w.example.test', 'a.w.example.test'), MISDIRECTED)
    assert.equal(await asked('z.w.example.test', 'y.w.example.test'), '*.w.example.test')
    const { status } = await world.server.api.delete(`/edges/https/${made.get('a.b.w.example.test')}`)
    assert.equal(status, 204)
    await until(() => asked('a.b.w.example.test', 'a.b.w.example.test'), {
      fits: found => found === '*.b.w.example.test',
    })
  })

  test('SEC-13 can be reserved once, and not by a wildcard that names everything', async () => {
    for (const domain of [ONE, ONE.toUpperCase(), '*', 'a.*.example.test', '*.*.example.test']) {
      const { status } = await world.server.api.post('/reserved_domains', { domain })
      assert.ok(status >= 400 && status < 500, `${domain}: ${status}`)
    }
  })
})
