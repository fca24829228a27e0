import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { suite, test } from 'node:test'
import {
  brotliDecompressSync,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
  gunzipSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib'
import { chooseCoding } from '#http/compression/accept-encoding.ts'
import type { Endpoint, Exchange, Reply } from '#http/exchange.ts'
import { type Body, bodyOf, noBody } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import { TextBody } from '#http/http1-whole.ts'
import { compressionModule } from '#gateway/modules/compression.ts'
import { startFixture } from '../../http/http1/support.ts'
import { readBody, ask, ManualBody, gateway } from '../../http/http2/support.ts'
import { info } from '../agents/support.ts'
import { modulePartsFor, moduleState } from '../module-parts.ts'
import { optionsOf, request } from './support.ts'

const parts = modulePartsFor(info)
const handler = compressionModule.fromRecord({ enabled: true }, { id: 'edghtsrt_1' }, parts)
const openEngines = (): number => moduleState.compression.open
const decoders = {
  gzip: gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
}
type Coding = keyof typeof decoders

const text = 'To be compressed, and more of the same. '.repeat(200)
const HTML = 'Content-Type: text/html; charset=utf-8\r\n'

const replyOf = (body: Body, fields: string, status = 200): Reply => ({
  head: { status, reason: 'OK', framing: body.framing, fields: new Fields(fields) },
  body,
})

const accepting = (accepted: string, more: Partial<Exchange['head']> = {}): Exchange => {
  const exchange = request(accepted === '' ? '' : `Accept-Encoding: ${accepted}\r\n`)
  return { ...exchange, head: { ...exchange.head, ...more } }
}

const through = (reply: Reply, exchange = accepting('gzip')): Promise<Reply> =>
  handler(exchange, async () => reply)

const whole = (fields = HTML, content = text, status = 200): Reply =>
  replyOf(bodyOf(Buffer.from(content)), fields, status)

suite('a client gets what it accepts', () => {
  for (const [accepted, coding] of [
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip, deflate, br', 'br'],
    ['deflate, gzip', 'gzip'],
    ['deflate', 'deflate'],
    ['X-GZIP', 'gzip'],
    ['*', 'zstd'],
    ['*, zstd;q=0', 'br'],
    ['gzip;q=0.9, br;q=0.8', 'gzip'],
    ['gzip;q=1.0, br; q=0.999 , zstd;q=0', 'gzip'],
    ['br;q=0.001', 'br'],
    ['identity;q=0.5, gzip;q=0.4', undefined],
    ['identity;q=0.5, gzip;q=0.5', 'gzip'],
    ['identity, *;q=0', undefined],
    ['gzip;q=0', undefined],
    ['gzip;q=2', undefined],
    ['gzip;q=nonsense', undefined],
    ['compress, exi', undefined],
    ['', undefined],
    [`gzip,${' '.repeat(600)}`, undefined],
  ] as const) {
    test(`${accepted.slice(0, 60)}: ${coding ?? 'as it is'}`, () => {
      assert.equal(chooseCoding(accepted).coding, coding)
    })
  }

  test('one that sends no Accept-Encoding gets the content unchanged', () => {
    assert.equal(chooseCoding(undefined).coding, undefined)
  })

  for (const coding of ['gzip', 'deflate', 'br', 'zstd'] as const) {
    test(`in ${coding}, with a correct head`, async () => {
      const reply = await through(
        whole(`${HTML}ETag: "abc"\r\nVary: Cookie\r\nAccept-Ranges: bytes\r\n`),
        accepting(coding),
      )
      assert.equal(reply.head.fields.get('content-encoding'), coding)
      assert.deepEqual(reply.head.fields.all('vary'), ['Cookie, Accept-Encoding'])
      assert.deepEqual(reply.head.fields.all('etag'), ['W/"abc"'])
      assert.equal(reply.head.fields.get('accept-ranges'), undefined)
      assert.deepEqual(reply.head.framing, { kind: 'chunked' })
      const { bytes } = await readBody(reply.body)
      assert.ok(bytes.length < text.length / 10)
      assert.equal(decoders[coding](bytes).toString(), text)
      assert.equal(openEngines(), 0)
    })

    test(`in ${coding}, with its length when it is short and buffered`, async () => {
      const short = text.slice(0, 2000)
      const body = new TextBody(short, { kind: 'length', length: short.length })
      const reply = await through(replyOf(body, HTML), accepting(coding))
      const { bytes } = await readBody(reply.body)
      assert.deepEqual(reply.head.framing, { kind: 'length', length: bytes.length })
      assert.equal(decoders[coding](bytes).toString(), short)
      assert.equal(reply.head.fields.get('content-encoding'), coding)
    })
  }

  test('also short content, when it refuses identity', async () => {
    const reply = await through(whole(HTML, 'short '.repeat(10)), accepting('gzip, identity;q=0'))
    assert.equal(reply.head.fields.get('content-encoding'), 'gzip')
  })

  test('when an agent requested it', async () => {
    const given = optionsOf({ Compression: {} })
    const ofAgent = compressionModule.fromAgent?.build(given, { id: 'tn_1' }, parts)
    const reply = await ofAgent?.(accepting('gzip'), async () => whole())
    assert.equal(reply?.head.fields.get('content-encoding'), 'gzip')
    reply?.body.cancel()
  })
})

suite('content is not compressed', () => {
  for (const [why, reply] of Object.entries({
    'that is encoded already': whole(`${HTML}Content-Encoding: br\r\n`),
    'that must not be transformed': whole(
      `${HTML}Cache-Control: public\r\nCache-Control: NO-TRANSFORM, x\r\n`,
    ),
    'that is a part': whole(`${HTML}Content-Range: bytes 0-1/9\r\n`, text, 206),
    'that is under a digest': whole(`${HTML}Repr-Digest: sha-256=:x:\r\n`),
    'that is an image': whole('Content-Type: image/png\r\n'),
    'of an archive': whole('Content-Type: application/zip\r\n'),
    'of gRPC': whole('Content-Type: application/grpc+proto\r\n'),
    'without a type': whole(''),
    'of no bytes': whole(HTML, ''),
    'of a 304': { ...whole(HTML), head: { ...whole(HTML).head, status: 304 } },
    'of a 204': replyOf(noBody, HTML, 204),
  })) {
    test(why, async () => assert.equal(await through(reply), reply))
  }

  test('after an upgrade', async () => {
    const reply = { ...replyOf(noBody, HTML, 101), upgraded: {} as NonNullable<Reply['upgraded']> }
    assert.equal(await through(reply), reply)
  })

  for (const [why, reply, accepted] of [
    ['that is short', whole(HTML, 'a'.repeat(255)), 'gzip'],
    ['for who does not accept', whole(), ''],
  ] as const) {
    test(`${why}, with Vary for caches`, async () => {
      const answer = await through(reply, accepting(accepted))
      assert.equal(answer.body, reply.body)
      assert.equal(answer.head.framing, reply.head.framing)
      assert.equal(answer.head.fields.text, `${HTML}Vary: Accept-Encoding\r\n`)
    })
  }

  for (const vary of ['*', 'accept-encoding', 'Cookie, ACCEPT-ENCODING']) {
    test(`and Vary too when it is ${vary}`, async () => {
      const answer = await through(whole(`${HTML}Vary: ${vary}\r\n`))
      assert.deepEqual(answer.head.fields.all('vary'), [vary])
      answer.body.cancel()
    })
  }

  for (const type of [
    'application/json',
    'application/problem+json',
    'image/svg+xml',
    'application/wasm',
    'TEXT/CSS;x',
    'font/ttf',
  ]) {
    test(`but not when it is ${type}`, async () => {
      const answer = await through(whole(`Content-Type: ${type}\r\n`))
      assert.equal(answer.head.fields.get('content-encoding'), 'gzip')
      answer.body.cancel()
    })
  }
})

suite('compressed content', () => {
  test('of HEAD has the head of GET, without a wrong length', async () => {
    const plain = replyOf(noBody, `${HTML}ETag: "a"\r\n`)
    const head = { ...plain.head, announcedLength: 9000 }
    const reply = await through({ ...plain, head }, accepting('gzip', { method: 'HEAD' }))
    assert.equal(reply.head.fields.get('content-encoding'), 'gzip')
    assert.equal(reply.head.fields.get('etag'), 'W/"a"')
    assert.equal('announcedLength' in reply.head, false)
    assert.deepEqual(reply.head.framing, { kind: 'none' })
    const short = await through(
      { ...plain, head: { ...head, announcedLength: 10 } },
      accepting('gzip', { method: 'HEAD' }),
    )
    assert.equal(short.head.announcedLength, 10)
    assert.equal(short.head.fields.get('content-encoding'), undefined)
    assert.equal(openEngines(), 0)
  })

  test('keeps its trailers, in both framings', async () => {
    for (const raw of [false, true]) {
      const source = new ManualBody()
      const reply = await through(replyOf(source, HTML))
      const content = readBody(reply.body, raw)
      const sink = await source.started.promise
      sink.data(Buffer.from(text))
      sink.end('X-Sum: 1\r\n')
      const { bytes, trailers } = await content
      assert.equal(trailers, raw ? '' : 'X-Sum: 1\r\n')
      if (raw) assert.match(bytes.toString('latin1'), /\r\n0\r\nX-Sum: 1\r\n\r\n$/)
      else assert.equal(gunzipSync(bytes).toString(), text)
    }
  })

  test('fails when its source does, and closes the compressor', async () => {
    const source = new ManualBody()
    const reply = await through(replyOf(source, HTML))
    const content = readBody(reply.body)
    const sink = await source.started.promise
    sink.data(Buffer.from(text))
    sink.fail(new Error('cut'))
    await assert.rejects(content, /cut/)
    assert.equal(openEngines(), 0)
  })

  test('is not started if it is never read', async () => {
    const source = new ManualBody()
    const reply = await through(replyOf(source, HTML))
    reply.body.cancel()
    assert.equal(source.cancelled, true)
    assert.equal(openEngines(), 0)
  })

  test('is complete and in order, however the source is split', async () => {
    const source = new ManualBody()
    const reply = await through(replyOf(source, HTML))
    const content = readBody(reply.body)
    const sink = await source.started.promise
    const sizes = [1, 65_536, 16, 70_000, 3, 140_000, 200_000, 7, 65_536, 65_536, 131_072, 1]
    // All of them while the engine works on the first, and some more each time it goes on.
    const given = sizes.flatMap(size => [size, size]).map((size, at) => Buffer.alloc(size, `piece ${at} `))
    let next = 0
    const feed = (): void => {
      for (const end = next + 8; next < end && next < given.length; next++)
        sink.data(given[next] ?? Buffer.alloc(0))
      if (next === given.length) {
        next++
        sink.end('')
      }
    }
    source.resumed = feed
    feed()
    const { bytes } = await content
    assert.deepEqual(gunzipSync(bytes), Buffer.concat(given))
    assert.equal(openEngines(), 0)
  })

  test('pauses its source when it is not read, and resumes after that', async () => {
    const source = new ManualBody()
    const reply = await through(replyOf(source, HTML))
    const pieces: Buffer[] = []
    const ended = Promise.withResolvers<void>()
    reply.body.read(
      { data: bytes => void pieces.push(bytes), end: () => ended.resolve(), fail: ended.reject },
      false,
    )
    reply.body.pause()
    const sink = await source.started.promise
    // What cannot be compressed fills the engine soon.
    const noise = Buffer.from(Uint8Array.from({ length: 65_536 }, (_, at) => (at * at * 7919) >> 7))
    let fed = 0
    while (!source.paused && fed < 200) {
      sink.data(noise)
      fed++
      await new Promise(resolve => setImmediate(resolve))
    }
    assert.ok(source.paused && fed < 50, `${fed} pieces were taken`)
    assert.equal(pieces.length, 0)
    source.resumed = () => sink.end('')
    reply.body.resume()
    await ended.promise
    const content = gunzipSync(Buffer.concat(pieces))
    assert.equal(content.length, fed * noise.length)
  })
})

/** A gateway on a socket, whose service responds as the test sets. */
const served = (answer: Endpoint) => startFixture({ answer: exchange => handler(exchange, answer) })

const visit = async (port: number, accepted: string): Promise<IncomingMessage> => {
  const asked = get({ port, host: '127.0.0.1', agent: false, headers: { 'accept-encoding': accepted } })
  asked.on('error', () => undefined)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  return answer
}

suite('over a socket', () => {
  for (const coding of Object.keys(decoders) as Coding[]) {
    test(`an HTTP/1.1 client reads ${coding}`, async () => {
      await using front = await served(async () => whole())
      const answer = await visit(front.port, coding)
      const bytes = Buffer.concat(await answer.toArray())
      assert.equal(answer.headers['content-encoding'], coding)
      assert.equal(answer.headers['content-length'], undefined)
      assert.equal(decoders[coding](bytes).toString(), text)
    })

    test(`an HTTP/2 client reads ${coding}, and trailers`, async () => {
      const source = new ManualBody()
      await using front = await gateway(exchange => handler(exchange, async () => replyOf(source, HTML)))
      const client = await front.client()
      const stream = client.request({ ':path': '/', 'accept-encoding': coding })
      const pieces: Buffer[] = []
      const trailers = once(stream, 'trailers')
      stream.on('data', (bytes: Buffer) => pieces.push(bytes))
      const sink = await source.started.promise
      for (let count = 0; count < 50; count++) sink.data(Buffer.from(text))
      sink.end('x-sum: 1\r\n')
      const [fields] = (await trailers) as [Record<string, string>]
      await once(stream, 'close')
      assert.equal(fields['x-sum'], '1')
      assert.equal(decoders[coding](Buffer.concat(pieces)).toString(), text.repeat(50))
    })
  }

  test('HEAD over HTTP/2 has no length', async () => {
    const plain = replyOf(noBody, HTML)
    const reply = { ...plain, head: { ...plain.head, announcedLength: 9000 } }
    await using front = await gateway(exchange => handler(exchange, async () => reply))
    const answer = await ask(await front.client(), {
      ':path': '/',
      ':method': 'HEAD',
      'accept-encoding': 'gzip',
    })
    assert.equal(answer.headers['content-length'], undefined)
    assert.equal(answer.headers['content-encoding'], 'gzip')
  })

  for (const [coding, decoder] of Object.entries({
    gzip: createGunzip,
    deflate: createInflate,
    br: createBrotliDecompress,
    zstd: createZstdDecompress,
  })) {
    test(`each event of a slow stream arrives before the next is sent, in ${coding}`, async () => {
      const source = new ManualBody()
      await using front = await served(async () => replyOf(source, 'Content-Type: text/event-stream\r\n'))
      const answer = await visit(front.port, coding)
      const sink = await source.started.promise
      const events = answer.pipe(decoder())
      for (let count = 0; count < 20; count++) {
        const event = `data: event ${count}\n\n`
        sink.data(Buffer.from(event))
        let seen = ''
        while (seen.length < event.length) seen += String((await once(events, 'data'))[0])
        assert.equal(seen, event)
      }
      sink.end('')
      events.resume()
      await once(events, 'end')
      assert.equal(openEngines(), 0)
    })
  }

  test('large content is complete when its reader is slow', async () => {
    const source = new ManualBody()
    await using front = await served(async () => replyOf(source, HTML))
    const answer = await visit(front.port, 'gzip')
    const sink = await source.started.promise
    const noise = Buffer.from(Uint8Array.from({ length: 65_536 }, (_, at) => (at * at * 7919) >> 7))
    const pieces = 300
    let fed = 0
    const feed = (): void => {
      while (!source.paused && fed < pieces) {
        sink.data(Buffer.from(noise))
        if (++fed === pieces) sink.end('')
      }
    }
    source.resumed = feed
    feed()
    assert.ok(fed < pieces)
    await once(answer, 'readable')
    const plain = answer.pipe(createGunzip())
    let length = 0
    for await (const bytes of plain) length += (bytes as Buffer).length
    assert.equal(length, pieces * noise.length)
  })

  test('a client that disconnects closes the compressor and the source', async () => {
    const source = new ManualBody()
    await using front = await served(async () => replyOf(source, HTML))
    const answer = await visit(front.port, 'br')
    const sink = await source.started.promise
    sink.data(Buffer.from(text))
    await once(answer, 'data')
    assert.equal(openEngines(), 1)
    const cancelled = Promise.withResolvers<void>()
    source.cancel = () => cancelled.resolve()
    answer.on('error', () => undefined)
    answer.socket.resetAndDestroy()
    await cancelled.promise
    assert.equal(openEngines(), 0)
  })

  test('one endpoint and one address have no more than their share of the compressors', async () => {
    const open: Reply[] = []
    const fill = async (endpoint: string, ip: string): Promise<number> => {
      const module = compressionModule.fromRecord({ enabled: true }, { id: endpoint }, parts)
      for (let count = 0; count < 1000; count++) {
        const exchange = { ...accepting('br'), client: { ...accepting('br').client, ip } }
        const reply = await module(exchange, async () => replyOf(new ManualBody(), HTML))
        if (reply.head.fields.get('content-encoding') === undefined) return count
        reply.body.read({ data: () => undefined, end: () => undefined, fail: () => undefined }, false)
        open.push(reply)
      }
      return 1000
    }
    const ofOneAddress = await fill('edge_1', '192.0.2.1')
    // Two mebibytes each, and at most a quarter of half a gibibyte.
    assert.ok(ofOneAddress > 0 && ofOneAddress <= 64, `${ofOneAddress} engines`)
    assert.equal(await fill('edge_2', '192.0.2.1'), 0, 'an address has one share at all endpoints')
    const ofEndpoint =
      ofOneAddress + (await fill('edge_1', '192.0.2.2')) + (await fill('edge_1', '192.0.2.3'))
    assert.ok(ofEndpoint <= 2 * ofOneAddress, `${ofEndpoint} engines of one endpoint`)
    assert.ok((await fill('edge_2', '192.0.2.4')) > 0)
    for (const { body } of open) body.cancel()
    assert.equal(openEngines(), 0)
    assert.equal(await fill('edge_2', '192.0.2.1'), ofOneAddress)
    for (const { body } of open) body.cancel()
  })

  test('an HTTP/1.0 client reads until the end of the connection', async () => {
    await using front = await served(async () => whole())
    const client = await front.connect()
    client.send('GET / HTTP/1.0\r\nHost: app.test\r\nAccept-Encoding: gzip\r\n\r\n')
    const answer = await client.readToEnd()
    const [head = ''] = answer.split('\r\n\r\n', 1)
    assert.doesNotMatch(head, /chunked|content-length/i)
    const content = Buffer.from(answer.slice(head.length + 4), 'latin1')
    assert.equal(gunzipSync(content).toString(), text)
  })

  test('the next request of a connection is served after a compressed response', async () => {
    await using front = await served(async () => whole())
    const client = await front.connect()
    for (let count = 0; count < 3; count++) {
      client.send('GET / HTTP/1.1\r\nHost: app.test\r\nAccept-Encoding: gzip\r\n\r\n')
      const { status, head } = await client.answer()
      assert.equal(status, 200)
      assert.match(head, /content-encoding: gzip/i)
    }
  })
})
