import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { type Duplex, duplexPair, PassThrough } from 'node:stream'
import { suite, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { fromDuplex } from '#tunnel/from-duplex.ts'
import { TunnelError } from '#tunnel/frame.ts'
import { RecordingSink } from './support.ts'
import { steady, until } from '../support/until.ts'

interface Ends extends AsyncDisposable {
  readonly near: Duplex
  readonly far: Duplex
}

/** Two ends of a TCP connection on loopback. */
async function sockets(): Promise<Ends> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const far = connect({ port: address.port, allowHalfOpen: true })
  const [near] = (await once(server, 'connection')) as [Socket]
  server.close()
  far.on('error', () => undefined)
  return {
    near,
    far,
    async [Symbol.asyncDispose]() {
      near.destroy()
      far.destroy()
    },
  }
}

async function pair(): Promise<Ends> {
  const [near, far] = duplexPair({ allowHalfOpen: true })
  far.on('error', () => undefined)
  return { near, far, [Symbol.asyncDispose]: async () => void far.destroy() }
}

/** All that comes until the end; an async iterator would then destroy the other direction too. */
async function textOf(stream: Duplex): Promise<string> {
  let text = ''
  stream.setEncoding('utf8').on('data', (part: string) => (text += part))
  await once(stream, 'end')
  return text
}

for (const [kind, open] of Object.entries({ socket: sockets, 'duplex pair': pair })) {
  suite(`a ${kind} as a byte stream`, () => {
    test('carries bytes both ways and is closed when both have ended', async () => {
      await using ends = await open()
      const stream = fromDuplex(ends.near)
      const sink = new RecordingSink()
      stream.attach(sink)
      ends.far.write('question')
      ends.far.end('?')
      stream.write(Buffer.from('answer'))
      stream.end(Buffer.from('!'))
      assert.equal(await textOf(ends.far), 'answer!')
      assert.equal(await sink.whenClosed, undefined)
      assert.equal(sink.text, 'question?')
      assert.equal(stream.closed, true)
    })

    test('keeps sending after the peer has ended, and reading after its own end', async () => {
      await using ends = await open()
      const stream = fromDuplex(ends.near)
      const sink = new RecordingSink()
      stream.attach(sink)
      ends.far.end()
      await sink.whenEnded
      assert.deepEqual([stream.peerFinished, stream.closed], [true, false])
      stream.end(Buffer.from('late'))
      assert.equal(await textOf(ends.far), 'late')

      await using others = await open()
      const second = fromDuplex(others.near)
      const reader = new RecordingSink()
      second.attach(reader)
      second.end()
      assert.equal(await textOf(others.far), '')
      others.far.end('later')
      assert.equal(await reader.whenClosed, undefined)
      assert.equal(reader.text, 'later')
    })

    test('keeps what came before it had a reader, and what a reader gave back', async () => {
      await using ends = await open()
      const stream = fromDuplex(ends.near)
      ends.far.end('early bird')
      await setImmediate()
      await until(() => stream.waiting > 0)
      const first = new RecordingSink()
      stream.attach(first)
      assert.equal(first.text, 'early bird')
      stream.detach(Buffer.from('bird'))
      const second = new RecordingSink()
      stream.attach(second)
      await second.whenEnded
      assert.equal(second.text, 'bird')
    })

    test('stops the peer while its reader is paused', async () => {
      await using ends = await open()
      const stream = fromDuplex(ends.near)
      const sink = new RecordingSink()
      stream.attach(sink)
      stream.pause()
      const sent = randomBytes(32 * 1024 * 1024)
      let all = false
      for (let at = 0; at < sent.length; at += 65_536) ends.far.write(sent.subarray(at, at + 65_536))
      ends.far.end(() => (all = true))
      await steady(() => stream.waiting, 20)
      assert.equal(sink.size, 0)
      assert.equal(all, false)
      assert.ok(stream.waiting < 1024 * 1024, `${stream.waiting} bytes wait`)
      stream.resume()
      await sink.whenEnded
      assert.ok(Buffer.concat(sink.pieces).equals(sent))
    })

    test('makes a writer wait for a slow peer, and notifies it when to continue', async () => {
      await using ends = await open()
      const stream = fromDuplex(ends.near)
      const waits = Promise.withResolvers<void>()
      stream.attach(Object.assign(new RecordingSink(), { writable: waits.resolve }))
      const piece = Buffer.alloc(64 * 1024)
      let written = 0
      for (; stream.write(piece) && written < 1e9;) written += piece.length
      assert.ok(written < 64 * 1024 * 1024)
      ends.far.resume()
      await waits.promise
      assert.equal(stream.write(piece), true)
    })

    test('closes the connection when it is aborted, and its reader gets no more', async () => {
      await using ends = await open()
      const stream = fromDuplex(ends.near)
      const sink = new RecordingSink()
      stream.attach(sink)
      stream.abort()
      await once(ends.near, 'close')
      assert.equal(stream.closed, true)
      assert.equal(sink.ended, false)
      assert.equal(stream.write(Buffer.from('x')), true)
    })

    test('notifies its reader when the connection is cut', async () => {
      await using ends = await open()
      const stream = fromDuplex(ends.near)
      const sink = new RecordingSink()
      stream.attach(sink)
      ends.near.destroy()
      const error = await sink.whenClosed
      assert.ok(error instanceof TunnelError)
      const late = new RecordingSink()
      stream.attach(late)
      assert.equal(await late.whenClosed, error)
    })
  })
}

suite('habits of a Duplex', () => {
  test('report how it finishes and whether all is done', async () => {
    const done: string[] = []
    const duplex = new PassThrough()
    const stream = fromDuplex(duplex, {
      finish: () => done.push('finish'),
      release: () => done.push('release'),
    })
    const sink = new RecordingSink()
    stream.attach(sink)
    stream.end(Buffer.from('x'))
    await setImmediate()
    assert.deepEqual(done, ['finish'])
    duplex.end()
    assert.equal(await sink.whenClosed, undefined)
    assert.deepEqual(done, ['finish', 'release'])
  })

  test('can ask writers to wait for what lies below', () => {
    let full = true
    let woken = 0
    const stream = fromDuplex(new PassThrough(), { full: () => full })
    stream.attach(Object.assign(new RecordingSink(), { writable: () => woken++ }))
    assert.equal(stream.write(Buffer.alloc(0)), false)
    stream.wake()
    assert.equal(woken, 0)
    full = false
    stream.wake()
    stream.wake()
    assert.equal(woken, 1)
  })
})
