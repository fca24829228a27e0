import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { after, before, suite, test } from 'node:test'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { World } from '../e2e/edges/world.ts'
import { secretText } from '../support/secrets.ts'
import { CONTENT, mac } from './support.ts'
import { closed } from '../support/net.ts'
import { until } from '../support/until.ts'

const NAME = 'hooks.example.test'
const SECRET = secretText('shared with the sender')

const signature = (content: Buffer, secret = SECRET): string =>
  `sha256=${mac('sha256', secret, [content], 'hex')}`

interface Seen {
  readonly headers: IncomingMessage['headers']
  readonly trailers: IncomingMessage['trailers']
  readonly content: Buffer
}

suite('webhooks through TLS', () => {
  let world: World
  const seen: Seen[] = []

  const take = (request: IncomingMessage, response: ServerResponse): void => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const { headers, trailers } = request
      seen.push({ headers, trailers, content: Buffer.concat(pieces) })
      response.end('taken')
    })
  }

  const route = async (edge: string, backend: string, provider: string, secret = SECRET): Promise<void> => {
    await world.route(edge, `/${provider.toLowerCase()}`, backend, {
      webhook_verification: { provider, secret },
    })
  }

  before(async () => {
    world = await World.start()
    const edge = await world.edge([NAME])
    const backend = await world.static(take)
    await route(edge, backend, 'GITHUB')
    await route(edge, backend, 'twilio')
    await route(edge, backend, 'worldline')
    await until(() => world.ask(`${NAME}/worldline`), { fits: ({ code }) => code === 'ERR_ADIT_3204' })
  })
  after(() => world[Symbol.asyncDispose]())

  const post = (content: Buffer, headers: Record<string, string>, path = 'github') =>
    world.ask(`${NAME}/${path}`, { method: 'POST', body: content, headers })

  test('reach the service only when they are signed', async () => {
    seen.length = 0
    const got = await post(CONTENT, { 'x-hub-signature-256': signature(CONTENT) })
    assert.equal(got.text, 'taken')
    assert.ok(seen[0]?.content.equals(CONTENT))
    assert.equal(seen[0]?.headers['content-length'], String(CONTENT.length))
    for (const headers of [{}, { 'x-hub-signature-256': signature(CONTENT, 'another') }]) {
      const refused = await post(CONTENT, headers)
      assert.equal(refused.status, 403)
      assert.equal(refused.code, 'ERR_ADIT_3204')
      assert.equal(refused.headers['ngrok-error-code'], 'ERR_NGROK_3204')
      assert.ok(!refused.text.includes('signature does not match'))
    }
    assert.equal(seen.length, 1)
  })

  test('of 10 MiB pass, and larger ones do not', async () => {
    seen.length = 0
    const content = Buffer.alloc(10 * 1024 * 1024, 'large ')
    assert.equal((await post(content, { 'x-hub-signature-256': signature(content) })).text, 'taken')
    assert.ok(seen[0]?.content.equals(content))
    const socket = await raw(world)
    socket.write(`POST /github HTTP/1.1\r\nHost: ${NAME}\r\nContent-Length: ${content.length + 1}\r\n\r\n`)
    assert.match(await answerOn(socket), /^HTTP\/1\.1 413 /)
    assert.equal(seen.length, 1)
  })

  test('whose address is signed are checked with the address that the sender used', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const signed = mac('sha1', SECRET, [`https://${NAME}/twilio?a=b`, 'From', '1'], 'base64')
    const got = await post(Buffer.from('From=1'), { ...form, 'x-twilio-signature': signed }, 'twilio?a=b')
    assert.equal(got.text, 'taken')
    const other = await post(Buffer.from('From=1'), { ...form, 'x-twilio-signature': signed }, 'twilio?a=c')
    assert.equal(other.status, 403)
  })

  test('in chunks keep them and what follows', async () => {
    seen.length = 0
    const socket = await raw(world)
    socket.write(
      `POST /github HTTP/1.1\r\nHost: ${NAME}\r\nTransfer-Encoding: chunked\r\nTrailer: Sum\r\n` +
        `X-Hub-Signature-256: ${signature(Buffer.from('hello world'))}\r\n\r\n5\r\nhello\r\n`,
    )
    socket.write('6\r\n world\r\n0\r\nSum: 7\r\n\r\n')
    assert.match(await answerOn(socket), /^HTTP\/1\.1 200 /)
    assert.equal(seen[0]?.content.toString(), 'hello world')
    assert.equal(seen[0]?.headers['transfer-encoding'], 'chunked')
    assert.equal(seen[0]?.trailers['sum'], '7')
  })

  test('with Expect: 100-continue get one 100 response', async () => {
    seen.length = 0
    const socket = await raw(world)
    socket.write(
      `POST /github HTTP/1.1\r\nHost: ${NAME}\r\nContent-Length: 5\r\nExpect: 100-continue\r\n` +
        `X-Hub-Signature-256: ${signature(Buffer.from('hello'))}\r\nConnection: close\r\n\r\n`,
    )
    const [first] = (await once(socket, 'data')) as [Buffer]
    assert.equal(first.toString(), 'HTTP/1.1 100 Continue\r\n\r\n')
    socket.write('hello')
    const answer = await answerOn(socket)
    assert.match(answer, /^HTTP\/1\.1 200 /)
    assert.ok(!answer.includes('100 Continue'))
    assert.equal(seen[0]?.headers['expect'], undefined)
  })

  test('that are truncated never reach the service, and the next one does', async () => {
    seen.length = 0
    const socket = await raw(world)
    const head = `X-Hub-Signature-256: ${signature(Buffer.from('hel'))}\r\n`
    socket.write(`POST /github HTTP/1.1\r\nHost: ${NAME}\r\nContent-Length: 5\r\n${head}\r\nhel`)
    socket.end()
    await closed(socket)
    assert.equal((await post(CONTENT, { 'x-hub-signature-256': signature(CONTENT) })).text, 'taken')
    assert.equal(seen.length, 1)
  })

  test('may be sent over HTTP/2', async () => {
    seen.length = 0
    const session = connectHttp2(`https://${NAME}`, {
      createConnection: () => tls(world, ['h2']),
    })
    const stream = session.request({
      ':method': 'POST',
      ':path': '/github',
      'x-hub-signature-256': signature(CONTENT),
    })
    stream.end(CONTENT)
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>]
    assert.equal(headers[':status'], 200)
    stream.resume()
    await once(stream, 'close')
    session.close()
    assert.ok(seen[0]?.content.equals(CONTENT))
  })

  test('of a sender with challenges are answered by the gateway', async () => {
    seen.length = 0
    const got = await world.ask(`${NAME}/worldline`, {
      headers: { 'x-gcs-webhooks-endpoint-verification': 'are you there' },
    })
    assert.equal(got.status, 200)
    assert.equal(got.text, 'are you there')
    assert.equal(seen.length, 0)
  })

  test('are verified before the tunnels of agents, where the configuration of a domain requires it', async () => {
    seen.length = 0
    const domain = 'tunnel.example.test'
    const { id } = await world.make('/endpoint_configurations', {
      type: 'https',
      webhook_validation: { provider: 'slack', secret: SECRET },
    })
    await world.make('/reserved_domains', { domain, https_endpoint_configuration_id: id })
    const agent = await world.agent()
    await agent.listen({ proto: 'https', domain, forwardTo: await world.service(take) })
    const content = Buffer.alloc(1024 * 1024, 'through a tunnel ')
    const stamp = String(Math.floor(Date.now() / 1000))
    const signed = (secret: string): Record<string, string> => ({
      'x-slack-signature': `v0=${mac('sha256', secret, [`v0:${stamp}:`, content], 'hex')}`,
      'x-slack-request-timestamp': stamp,
    })
    const ask = (headers: Record<string, string>) =>
      world.ask(domain, { method: 'POST', body: content, headers })
    assert.equal((await ask(signed(SECRET))).text, 'taken')
    assert.equal((await ask({ ...signed(SECRET), 'transfer-encoding': 'chunked' })).text, 'taken')
    assert.equal((await ask(signed('another'))).status, 403)
    assert.deepEqual(
      seen.map(each => each.content.equals(content)),
      [true, true],
    )
    assert.equal(seen[1]?.headers['transfer-encoding'], 'chunked')
  })
})

const tls = (world: World, alpn: string[]): TLSSocket =>
  connectTls({
    host: '127.0.0.1',
    port: world.server.bound.https?.port ?? 0,
    servername: NAME,
    ca: world.ca,
    ALPNProtocols: alpn,
  })

async function raw(world: World): Promise<TLSSocket> {
  const socket = tls(world, ['http/1.1'])
  await once(socket, 'secureConnect')
  socket.on('error', () => undefined)
  return socket
}

/** What comes until the answer with its content is there, or the connection ends. */
function answerOn(socket: TLSSocket): Promise<string> {
  return new Promise(resolve => {
    let text = ''
    const done = (): void => {
      socket.destroy()
      resolve(text)
    }
    socket.on('data', (piece: Buffer) => {
      text += piece.toString('latin1')
      if (text.includes('\r\n\r\n')) done()
    })
    socket.on('close', done)
  })
}
