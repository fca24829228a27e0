import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { DialError } from '#registry/agent-dialer.ts'
import { newSshKey } from '../support/openssh.ts'
import { RecordingSink } from '../tunnel/support.ts'
import { ssh, type SshProcess, TestListener, Upstream } from './support.ts'
import { steady, until } from '../support/until.ts'
import { Folder } from '../support/folder.ts'

let folder: Folder
let listener: TestListener

before(async () => {
  folder = new Folder()
  listener = await TestListener.start({ channels: 140 })
  listener.gateway.register(await newSshKey(folder, 'id', 'ed25519'))
})

after(async () => {
  await listener[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

/** Forwards a name to a service, and waits until it is online. */
async function tunnel(name: string, upstream: Upstream): Promise<SshProcess> {
  const flags = ['-R', `${name}:80:127.0.0.1:${upstream.port}`]
  const client = ssh({ port: listener.port, key: folder.file('id'), flags, command: ['http'] })
  await client.waitForOutput(/-> -R/)
  return client
}

suite('connections through ssh', () => {
  test('64 at a time carry their own bytes', async () => {
    await using upstream = await Upstream.start(socket => socket.pipe(socket))
    await using _ = await tunnel('many', upstream)
    await Promise.all(
      Array.from({ length: 64 }, async (_unused, index) => {
        const sent = randomBytes(200_000 + index)
        const stream = await listener.gateway.visit(/many/, '')
        const ear = new RecordingSink()
        stream.attach(ear)
        for (let at = 0; at < sent.length; at += 16_384) stream.write(sent.subarray(at, at + 16_384))
        stream.end()
        assert.equal(await ear.whenClosed, undefined)
        assert.ok(Buffer.concat(ear.pieces).equals(sent), `connection ${index}`)
      }),
    )
  })

  test('past half of the limit of one ssh, all from one address, are refused as busy, until some have ended', async () => {
    await using upstream = await Upstream.start(socket => socket.resume().once('end', () => socket.end()))
    await using _ = await tunnel('busy', upstream)
    const streams = await Promise.all(Array.from({ length: 70 }, () => listener.gateway.visit(/busy/)))
    await assert.rejects(listener.gateway.visit(/busy/), (error: unknown) => {
      assert.ok(error instanceof DialError)
      assert.equal(error.code, 'busy')
      return true
    })
    for (const stream of streams) stream.abort()
    await until(() => listener.gateway.visit(/busy/).catch(() => undefined))
  })

  test('end in each direction on its own', async () => {
    await using upstream = await Upstream.start(socket => {
      socket.write('first')
      socket.resume().once('end', () => socket.end('last'))
    })
    await using _ = await tunnel('half', upstream)
    assert.equal(await listener.gateway.ask(/half/, 'question'), 'firstlast')

    await using talker = await Upstream.start(socket => {
      socket.end('all I have to say')
      socket.on('data', () => undefined)
    })
    await using client = await tunnel('talker', talker)
    const stream = await listener.gateway.visit(/talker/)
    const ear = new RecordingSink()
    stream.attach(ear)
    await ear.whenEnded
    assert.deepEqual([ear.text, stream.peerFinished, stream.closed], ['all I have to say', true, false])
    const [socket] = talker.sockets
    const received = new Promise<string>(resolve => socket?.once('data', bytes => resolve(bytes.toString())))
    stream.end(Buffer.from('I listened'))
    assert.equal(await received, 'I listened')
    assert.equal(await ear.whenClosed, undefined)
    assert.equal(client.stderr, '')
  })

  test('with a reader that is slow stop their service and no other', async () => {
    let sent = 0
    await using upstream = await Upstream.start(socket => {
      const piece = Buffer.alloc(65_536)
      const pour = (): void => {
        while (sent < 64 * 1024 * 1024 && socket.write(piece)) sent += piece.length
      }
      socket.on('drain', pour)
      pour()
    })
    await using quick = await Upstream.echo()
    const flags = ['-R', `slow:80:127.0.0.1:${upstream.port}`, '-R', `quick:80:127.0.0.1:${quick.port}`]
    await using client = ssh({ port: listener.port, key: folder.file('id'), flags, command: ['http'] })
    await client.waitForOutput(/-> -R[^]*-> -R/)
    const stream = await listener.gateway.visit(/slow/)
    const ear = new RecordingSink()
    stream.attach(ear)
    stream.pause()
    await steady(() => sent)
    assert.ok(sent < 32 * 1024 * 1024, `${sent} bytes were taken`)
    assert.equal(await listener.gateway.ask(/quick/, 'hello'), 'HELLO')
    stream.resume()
    await until(() => ear.size >= 40 * 1024 * 1024)
    stream.abort()
  })

  test('with a service that is slow make the writer wait', async () => {
    await using upstream = await Upstream.start(socket => socket.pause())
    await using _ = await tunnel('stuck', upstream)
    const stream = await listener.gateway.visit(/stuck/)
    const woken = Promise.withResolvers<void>()
    stream.attach(Object.assign(new RecordingSink(), { writable: woken.resolve }))
    const piece = Buffer.alloc(65_536)
    let written = 0
    for (let waits = 0; waits < 20;) {
      if (stream.write(piece)) written += piece.length
      else waits++
      await setTimeout(1)
      assert.ok(written < 64 * 1024 * 1024, 'the writer was never made to wait')
    }
    upstream.sockets.forEach(socket => socket.resume())
    await woken.promise
    stream.abort()
  })

  test('fail when ssh ends', async () => {
    await using upstream = await Upstream.start(socket => socket.pause())
    await using client = await tunnel('gone', upstream)
    const tunnelOfOld = listener.gateway.tunnelAt(/gone/)
    const { connection } = listener.gateway.sessions.get(tunnelOfOld.sessionId) ?? assert.fail()
    const stream = await listener.gateway.visit(/gone/)
    const ear = new RecordingSink()
    stream.attach(ear)
    client.child.kill('SIGKILL')
    assert.match(String(await ear.whenClosed), /ssh connection was closed/)
    const header = { Id: '', ClientAddr: '[2001:db8::1]:1', Proto: '', EdgeType: '', PassthroughTLS: false }
    await assert.rejects(connection.dial(tunnelOfOld, header, Buffer.alloc(0)), { code: 'offline' })
  })
})
