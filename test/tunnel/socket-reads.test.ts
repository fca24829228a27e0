import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { duplexPair, Writable } from 'node:stream'
import { after, before, suite, test } from 'node:test'
import { TLSSocket } from 'node:tls'
import { release, writeOwned } from '#tunnel/buffer-pool.ts'
import { readSocket, secureAfter, type SocketReads, usePlainReads } from '#tunnel/socket-reads.ts'
import { tcpPair, tlsPair } from './socket-pairs.ts'
import { until } from '../support/until.ts'

const MIB = 1_048_576

/** Keeps the very bytes it is given, not copies of them. */
class Reader {
  readonly pieces: Buffer[] = []
  readonly ended = Promise.withResolvers<void>()
  hasEnded = false
  size = 0

  get all(): Buffer {
    return Buffer.concat(this.pieces)
  }

  data(bytes: Buffer): void {
    this.pieces.push(bytes)
    this.size += bytes.length
  }

  end(): void {
    this.hasEnded = true
    this.ended.resolve()
  }
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate)
}

const links = { 'a plain socket': tcpPair, 'a TLS socket': tlsPair }
const sides = ['accepted', 'outgoing'] as const

for (const mode of ['fast', 'plain'] as const)
  for (const [name, link] of Object.entries(links))
    for (const side of sides)
      suite(`${mode} reads of ${name}, ${side}`, () => {
        before(() => usePlainReads(mode === 'plain'))
        after(() => usePlainReads(false))

        const ends = async (): Promise<{ near: Socket; far: Socket }> => {
          const { accepted, outgoing } = await link()
          const [near, far] = side === 'accepted' ? [accepted, outgoing] : [outgoing, accepted]
          near.on('error', () => undefined)
          far.on('error', () => undefined)
          return { near, far }
        }

        test('bring all bytes in order, in memory that stays as it is, and then the end', async () => {
          const { near, far } = await ends()
          const reader = new Reader()
          readSocket(near, reader)
          const sent = [1, 7, 300, 16_383, 16_384, 16_385, 65_536, 3, MIB, 40_000, 2 * MIB, 9].map(size =>
            randomBytes(size),
          )
          for (const bytes of sent) {
            far.write(bytes)
            if (bytes.length < 70_000) await turns(2)
          }
          far.end()
          await reader.ended.promise
          assert.ok(reader.all.equals(Buffer.concat(sent)))
          near.destroy()
        })

        test('stop at a pause, in the middle of received data, and continue after it', async () => {
          const { near, far } = await ends()
          const reader = new Reader()
          let pausedAt = 0
          const reads: SocketReads = readSocket(near, {
            data: bytes => {
              assert.equal(pausedAt, 0, 'bytes came after the pause')
              reader.data(bytes)
              reads.pause()
              pausedAt = reader.size
            },
            end: () => {
              assert.equal(pausedAt, 0, 'the end came after the pause')
              reader.end()
            },
          })
          const bytes = randomBytes(700_000)
          far.end(bytes)
          let stops = 0
          while (!reader.hasEnded) {
            await turns(3)
            if (pausedAt === 0) continue
            assert.equal(reader.size, pausedAt)
            pausedAt = 0
            stops++
            reads.resume()
          }
          assert.ok(reader.all.equals(bytes))
          assert.ok(stops > 2)
          near.destroy()
        })

        test('do not make a peer that sends without end fill our memory while paused', async () => {
          const { near, far } = await ends()
          const reader = new Reader()
          const reads = readSocket(near, reader)
          far.write(Buffer.alloc(10))
          await until(() => reader.size >= 10)
          reads.pause()
          far.write(Buffer.alloc(64 * MIB))
          await turns(200)
          assert.equal(reader.size, 10)
          assert.ok(far.writableLength > 0, 'the peer has to wait')
          reads.resume()
          await until(() => reader.size >= 64 * MIB + 10)
          near.destroy()
        })

        test('leave our direction open after the end of the peer', async () => {
          const { near, far } = await ends()
          const [asked, answered] = [new Reader(), new Reader()]
          readSocket(near, asked)
          readSocket(far, answered)
          far.end('question')
          await asked.ended.promise
          near.end('answer')
          await answered.ended.promise
          assert.deepEqual([asked.all.toString(), answered.all.toString()], ['question', 'answer'])
        })

        test('begin with what came before them', async () => {
          const { near, far } = await ends()
          far.write('early ')
          await once(near, 'readable')
          far.end('and late')
          await turns(5)
          const reader = new Reader()
          readSocket(near, reader)
          await reader.ended.promise
          assert.equal(reader.all.toString(), 'early and late')
          near.destroy()
        })

        test('leave errors and the close to the socket, without an end', async () => {
          const { near, far } = await ends()
          const reader = new Reader()
          readSocket(near, reader)
          far.write('then gone')
          await until(() => reader.size >= 9)
          const closed = new Promise(resolve => near.on('close', resolve))
          if (name === 'a plain socket') far.resetAndDestroy()
          else near.destroy(new Error('a fault'))
          assert.deepEqual([await closed, reader.hasEnded], [true, false])
        })

        test('bring nothing after the socket was destroyed', async () => {
          const { near, far } = await ends()
          const reader = new Reader()
          readSocket(near, {
            data: bytes => {
              reader.data(bytes)
              near.destroy()
            },
            end: () => reader.end(),
          })
          far.write(randomBytes(MIB))
          await once(near, 'close')
          await turns(3)
          assert.deepEqual([reader.pieces.length, reader.hasEnded], [1, false])
        })

        test('use memory again that was given back, and never what was not', async () => {
          const { near, far } = await ends()
          const reader = new Reader()
          const reads = readSocket(near, reader)
          const bytes = randomBytes(4 * MIB)
          const kept: { readonly at: number; readonly piece: Buffer }[] = []
          let at = 0
          const sink = { seen: 0 }
          Object.assign(reader, {
            data: (piece: Buffer) => {
              sink.seen++
              assert.ok(piece.equals(bytes.subarray(at, at + piece.length)))
              if (sink.seen % 3 === 0) kept.push({ at, piece })
              else release(piece)
              at += piece.length
              if (sink.seen % 5 === 0) {
                reads.pause()
                setImmediate(() => reads.resume())
              }
            },
          })
          far.end(bytes)
          await reader.ended.promise
          assert.equal(at, bytes.length)
          assert.ok(kept.length > 0)
          for (const { at: from, piece } of kept)
            assert.ok(piece.equals(bytes.subarray(from, from + piece.length)))
          near.destroy()
        })

        test('can be passed on as they come, and their memory used again', async () => {
          const { near, far } = await ends()
          const { near: onward, far: last } = await ends()
          const reader = new Reader()
          readSocket(last, reader)
          const reads = readSocket(near, {
            data: piece => {
              if (!writeOwned(onward, piece)) reads.pause()
            },
            end: () => onward.end(),
          })
          onward.on('drain', () => reads.resume())
          const bytes = randomBytes(8 * MIB)
          far.end(bytes)
          await reader.ended.promise
          assert.ok(reader.all.equals(bytes))
          for (const socket of [near, onward]) socket.destroy()
        })
      })

suite('socket reads', () => {
  test('can be asked for before the socket is connected', async () => {
    const server = createServer(socket => socket.end('welcome'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const reader = new Reader()
    readSocket(connect((server.address() as AddressInfo).port, '127.0.0.1'), reader)
    await reader.ended.promise
    assert.equal(reader.all.toString(), 'welcome')
    server.close()
  })

  test('that wait for a slow reader keep no more memory than their own', () => {
    const block = Buffer.alloc(65_536, 'b')
    const taken: Buffer[] = []
    const waiting: (() => void)[] = []
    const socket = new Writable({
      write(bytes: Buffer, _, done) {
        taken.push(bytes)
        waiting.push(done)
      },
    })
    for (let at = 0; at < 3; at++) writeOwned(socket, block.subarray(at * 8192, (at + 1) * 8192))
    writeOwned(socket, block.subarray(0, 40_000))
    while (waiting.length > 0) waiting.shift()?.()
    assert.ok(Buffer.concat(taken).equals(block.subarray(0, 3 * 8192 + 40_000)))
    assert.deepEqual(
      taken.map(({ buffer }) => buffer.byteLength),
      // The first one does not wait, and copying the last one would save little.
      [65_536, 8192, 8192, 65_536],
    )
  })

  test('take any other stream too', async () => {
    const [near, far] = duplexPair()
    const reader = new Reader()
    readSocket(near, reader)
    far.end('bytes')
    await reader.ended.promise
    assert.equal(reader.all.toString(), 'bytes')
  })

  test('are the fast ones with this node: a read needs no memory of its own', async () => {
    const { accepted, outgoing } = await tcpPair()
    const reader = new Reader()
    readSocket(accepted, reader)
    for (let round = 0; round < 20; round++) {
      outgoing.write('a few bytes')
      await until(() => reader.size >= 11 * (round + 1))
    }
    assert.ok(new Set(reader.pieces.map(({ buffer }) => buffer)).size <= 2)
    for (const socket of [accepted, outgoing]) socket.destroy()
  })
})

test('the TLS engine gets what was read before in pieces that fit into its first buffer', async () => {
  const { accepted } = await tcpPair()
  const first = randomBytes(2500)
  const pieces: Buffer[] = []
  secureAfter(accepted, first, () => {
    const secured = new TLSSocket(accepted, { isServer: true })
    const { _handle: engine } = secured as unknown as { readonly _handle: object }
    Object.assign(engine, { receive: (piece: Buffer) => void pieces.push(piece) })
    return secured
  })
  assert.deepEqual(Buffer.concat(pieces), first)
  for (const { length } of pieces) assert.ok(length < 1024, `${length} bytes`)
  accepted.destroy()
})
