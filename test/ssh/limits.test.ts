import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, before, suite, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import ssh2 from 'ssh2'
import { DEFAULT_PENALTIES, SshPenalties } from '#ssh/penalties.ts'
import { DEFAULT_STARTUPS, Startups } from '#ssh/startups.ts'
import { newSshKey } from '../support/openssh.ts'
import { ssh, TestListener } from './support.ts'
import { until } from '../support/until.ts'
import { Folder } from '../support/folder.ts'
import { closed } from '../support/net.ts'

let folder: Folder
let publicKey: string

before(async () => {
  folder = new Folder()
  publicKey = await newSshKey(folder, 'id', 'ed25519')
})

after(() => folder[Symbol.dispose]())

/** A connection that sends nothing, or only the given text. */
async function caller(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** Whether the server speaks, or hangs up before that. */
function isGreeted(socket: Socket): Promise<boolean> {
  return new Promise(resolve => {
    // It may be over before anything is awaited.
    if (socket.closed) resolve(false)
    socket.once('data', () => resolve(true)).once('close', () => resolve(false))
  })
}

async function clientOf(listener: TestListener): Promise<ssh2.Client> {
  listener.gateway.register(publicKey)
  const client = new ssh2.Client()
  client.on('error', () => undefined)
  const privateKey = await folder.read('id')
  client.connect({ host: '127.0.0.1', port: listener.port, username: 'ann', privateKey })
  await once(client, 'ready')
  return client
}

/** Still accepts a valid client. */
async function assertServes(listener: TestListener): Promise<void> {
  const client = await clientOf(listener)
  client.end()
  await closed(client)
}

suite('connections that have not signed in', () => {
  test('are closed after a timeout', async () => {
    await using listener = await TestListener.start({ graceTime: 100 })
    const silent = await caller(listener.port)
    const talker = await caller(listener.port)
    talker.write('SSH-2.0-x\r\n')
    await Promise.all([closed(silent.resume()), closed(talker.resume())])
    assert.ok(silent.destroyed && talker.destroyed)
  })

  test('are limited in number', async () => {
    const startups = { start: 4, rate: 0, full: 4, perSource: 100 }
    await using listener = await TestListener.start({ startups })
    const sockets = await Promise.all(Array.from({ length: 10 }, () => caller(listener.port)))
    const greeted = await Promise.all(sockets.map(isGreeted))
    assert.equal(greeted.filter(Boolean).length, 2, 'half of them for one source')
    sockets.forEach(socket => socket.destroy())
    await until(async () => {
      const next = await caller(listener.port)
      const isTaken = await isGreeted(next)
      next.destroy()
      return isTaken
    })
    await assertServes(listener)
  })

  test('are limited in number for each source', async () => {
    const startups = { ...DEFAULT_STARTUPS, start: 100, perSource: 3 }
    await using listener = await TestListener.start({ startups })
    const sockets = await Promise.all(Array.from({ length: 5 }, () => caller(listener.port)))
    const greeted = await Promise.all(sockets.map(isGreeted))
    assert.equal(greeted.filter(Boolean).length, 3)
    sockets.forEach(socket => socket.destroy())
  })

  test('are refused at random from ten on, except the first of a source, and all from a hundred on', () => {
    let roll = 0
    const startups = new Startups(DEFAULT_STARTUPS, () => roll)
    for (let count = 0; count < 10; count++) assert.ok(startups.enter('a'))
    roll = 0.29
    assert.equal(startups.enter('a'), undefined)
    const leave = startups.enter('b')
    assert.ok(leave)
    leave()
    leave()
    assert.equal(startups.count, 10)
    roll = 0.9999
    for (let count = 10; count < 50; count++) assert.ok(startups.enter('a'))
    assert.equal(startups.enter('a'), undefined, 'half of a hundred')
    for (let count = 50; count < 100; count++) assert.ok(startups.enter(`source ${count}`))
    assert.equal(startups.enter('z'), undefined)
  })
})

suite('a source that fails', () => {
  test('is refused for a time after three failures, and no other source is', async () => {
    let now = 1_000_000
    const penalties = new SshPenalties(DEFAULT_PENALTIES, () => now)
    for (let count = 0; count < 3; count++) {
      assert.ok(penalties.mayConnect('a'))
      penalties.add('a', 'refused')
    }
    assert.equal(penalties.mayConnect('a'), false)
    assert.equal(penalties.mayConnect('b'), true)
    now += 15_001
    assert.equal(penalties.mayConnect('a'), true)
    for (let count = 0; count < 1000; count++) penalties.add('a', 'late')
    now += 600_001
    assert.equal(penalties.mayConnect('a'), true)
  })

  test('is evicted when too many others fail, and cleared when it signs in', () => {
    const penalties = new SshPenalties({ ...DEFAULT_PENALTIES, refused: 20_000, sources: 2 }, () => 0)
    penalties.add('a', 'refused')
    penalties.add('b', 'refused')
    penalties.add('c', 'refused')
    assert.deepEqual(
      ['a', 'b', 'c'].map(source => penalties.mayConnect(source)),
      [true, false, false],
    )
    penalties.forgive('b')
    assert.equal(penalties.mayConnect('b'), true)
  })

  test('gets no banner any more', async () => {
    const penalties = { ...DEFAULT_PENALTIES, refused: 10_000, threshold: 10_000 }
    await using listener = await TestListener.start({ penalties })
    await newSshKey(folder, 'unknown', 'ed25519')
    await using client = ssh({ port: listener.port, key: folder.file('unknown') })
    assert.equal(await client.ended, 255)
    await until(async () => !(await isGreeted(await caller(listener.port))))
  })

  test('waits after fifteen connections that exchange keys and ask for nothing', async () => {
    await using listener = await TestListener.start()
    for (let count = 0; count < 15; count++) {
      const client = new ssh2.Client()
      client.on('error', () => undefined)
      client.once('handshake', () => client.destroy())
      client.connect({ host: '127.0.0.1', port: listener.port, username: 'unknown', password: '' })
      await closed(client)
    }
    await until(async () => !(await isGreeted(await caller(listener.port))))
  })

  test('is closed when it repeats the key exchange before it signs in', async () => {
    await using listener = await TestListener.start()
    const client = new ssh2.Client()
    client.on('error', () => undefined)
    let rekeys = 0
    client.on('handshake', () => {
      rekeys++
      // Clients of this library do not do this automatically.
      Reflect.get(client, '_protocol').rekey()
    })
    client.connect({
      host: '127.0.0.1',
      port: listener.port,
      username: 'unknown',
      authHandler: () => undefined,
    })
    await closed(client)
    assert.ok(rekeys <= 4, `${rekeys} key exchanges were answered`)
  })
})

suite('a client that has signed in', () => {
  test('is closed when it stops responding', async () => {
    // So many misses that a client on a busy machine answers in time.
    await using listener = await TestListener.start({ keepaliveInterval: 200, keepaliveMisses: 15 })
    listener.gateway.register(publicKey)
    await using client = ssh({
      port: listener.port,
      key: folder.file('id'),
      flags: ['-R', '80:127.0.0.1:1'],
      command: ['http'],
    })
    await client.waitForOutput(/-> -R/)
    // Longer than a client that does not answer is kept.
    await setTimeout(3500)
    assert.equal(listener.gateway.sessions.size, 1, 'while it answers it stays')
    const { connection } = listener.gateway.onlySession()
    client.child.kill('SIGSTOP')
    await until(() => listener.gateway.sessions.size === 0)
    assert.equal(await connection.probe(), false)
    client.child.kill('SIGCONT')
  })

  test('is closed when it requests nothing', async () => {
    await using listener = await TestListener.start({ idleWait: 100 })
    const client = await clientOf(listener)
    await closed(client)
    assert.equal(listener.gateway.sessions.size, 0)
  })

  test('has a limit of sessions', async () => {
    await using listener = await TestListener.start({ sessions: 2, forwardWait: 5000 })
    const client = await clientOf(listener)
    const shell = () =>
      new Promise<boolean>(resolve => client.shell(false, error => resolve(error === undefined)))
    assert.deepEqual([await shell(), await shell(), await shell()], [true, true, false])
    client.end()
  })

  test('opens at most 32 tunnels, each address once', async () => {
    await using listener = await TestListener.start({ commandWait: 10 })
    const client = await clientOf(listener)
    const forward = (name: string, port: number) =>
      new Promise<boolean>(resolve => client.forwardIn(name, port, error => resolve(error === undefined)))
    assert.equal(await forward('localhost', 80), true)
    assert.equal(await forward('localhost', 80), false)
    for (let count = 1; count < 32; count++) assert.equal(await forward(`n${count}`, 80), true)
    assert.equal(await forward('one-more', 80), false)
    assert.equal(listener.gateway.tunnels.size, 32)
    client.end()
  })

  test('can cancel a tunnel', async () => {
    await using listener = await TestListener.start({ commandWait: 10 })
    const client = await clientOf(listener)
    const call = (method: 'forwardIn' | 'unforwardIn') =>
      new Promise<boolean>(resolve => client[method]('shop', 80, error => resolve(error === undefined)))
    assert.equal(await call('forwardIn'), true)
    assert.equal(await call('unforwardIn'), true)
    assert.equal(listener.gateway.tunnels.size, 0)
    assert.equal(await call('unforwardIn'), false)
    client.end()
  })

  test('may neither connect to other hosts nor use subsystems nor bind sockets', async () => {
    await using listener = await TestListener.start()
    const client = await clientOf(listener)
    const refused = (start: (done: (error: Error | undefined) => void) => void) =>
      new Promise<boolean>(resolve => start(error => resolve(error !== undefined)))
    assert.ok(await refused(done => client.forwardOut('127.0.0.1', 1, '127.0.0.1', 22, done)))
    assert.ok(await refused(done => client.sftp(done)))
    assert.ok(
      await refused(done => client.openssh_forwardInStreamLocal('/tmp/x', error => done(error ?? undefined))),
    )
    assert.ok(await refused(done => client.forwardIn('bad name!', 80, done)))
    client.end()
  })
})

suite('hostile input', () => {
  test('after the banner closes one connection and no other', async () => {
    const startups = { ...DEFAULT_STARTUPS, start: 1000, full: 1000, perSource: 1000 }
    const penalties = { ...DEFAULT_PENALTIES, unused: 0 }
    // The valid client sends no requests meanwhile.
    await using listener = await TestListener.start({ startups, penalties, idleWait: 600_000 })
    const good = await clientOf(listener)
    for (let count = 0; count < 50; count++) {
      const socket = await caller(listener.port)
      socket.resume().write('SSH-2.0-x\r\n')
      const lengths = [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]
      const head = Buffer.alloc(4)
      head.writeUInt32BE(lengths[count % 8] ?? randomBytes(2).readUInt16BE())
      socket.end(Buffer.concat([head, randomBytes(2000)]))
      await closed(socket)
    }
    const endless = await caller(listener.port)
    endless.resume().end(Buffer.alloc(9_000_000, 'SSH'))
    await closed(endless)
    await new Promise<void>((resolve, reject) => {
      good.exec('nonsense', (error, channel) => {
        if (error) reject(error)
        else channel.resume().once('close', () => resolve())
      })
    })
    good.end()
  })

  test('in a command causes an error message', async () => {
    await using listener = await TestListener.start()
    for (const command of [
      'x'.repeat(34_000),
      '\u0000\u0001',
      `http ${'"'.repeat(8000)}`,
      `http ${"\\'".repeat(4000)}`,
    ]) {
      const client = await clientOf(listener)
      const [code] = await new Promise<unknown[]>((resolve, reject) => {
        client.exec(command, (error, channel) => {
          if (error) return reject(error)
          channel.resume().stderr.resume()
          channel.once('exit', (...exit: unknown[]) => resolve(exit))
        })
      })
      assert.equal(code, 1)
      client.end()
    }
  })

  test('beyond the window of a connection without a reader closes the client', async () => {
    await using listener = await TestListener.start({ commandWait: 10 })
    const client = await clientOf(listener)
    client.on('tcp connection', (_, accept) => {
      const channel = accept()
      const { outgoing } = channel as unknown as { outgoing: { window: number; packetSize: number } }
      // ssh2 drops packets that arrive when a window is exactly empty, so these packets avoid that.
      Object.assign(outgoing, { window: 2 ** 31, packetSize: 30_001 })
      channel.write(Buffer.alloc(8 * 1024 * 1024))
    })
    await new Promise(resolve => client.forwardIn('flood', 80, resolve))
    const stream = await listener.gateway.visit(/flood/)
    stream.pause()
    await new Promise<void>(resolve => client.once('close', () => resolve()))
  })

  test('finds only modern algorithms', async () => {
    await using listener = await TestListener.start()
    await using client = ssh({ port: listener.port, key: folder.file('id'), options: ['LogLevel=DEBUG2'] })
    assert.equal(await client.ended, 255)
    const [, proposal = ''] = /peer server KEXINIT proposal\r?\n([^]*?)compression/.exec(client.stderr) ?? []
    assert.match(proposal, /KEX algorithms: ecdh-sha2-nistp384,curve25519-sha256,/)
    assert.match(client.stderr, /kex: algorithm: curve25519-sha256\r?\n/)
    assert.match(proposal, /host key algorithms: ssh-ed25519\r?\n/)
    assert.match(proposal, /kex-strict-s-v00@openssh\.com/)
    assert.doesNotMatch(proposal, /sha1|cbc|md5|group|dss|ssh-rsa|umac|arcfour|hmac-sha2-256,/)
  })

  test('does not see the version', async () => {
    await using listener = await TestListener.start()
    const socket = await caller(listener.port)
    const [greeting] = (await once(socket, 'data')) as [Buffer]
    assert.equal(greeting.toString(), 'SSH-2.0-adit\r\n')
    socket.destroy()
  })
})

suite('a listener', () => {
  test('that drains accepts no clients, and keeps those it has', async () => {
    await using listener = await TestListener.start()
    const client = await clientOf(listener)
    listener.listener.drain()
    const late = connect({ port: listener.port, host: '127.0.0.1' })
    await assert.rejects(once(late, 'connect'), { code: 'ECONNREFUSED' })
    assert.ok(await new Promise(resolve => client.exec('http', error => resolve(error === undefined))))
  })

  test('that closes sends its clients the reason', async () => {
    const listener = await TestListener.start()
    listener.gateway.register(publicKey)
    const flags = ['-R', '80:127.0.0.1:1']
    await using client = ssh({ port: listener.port, key: folder.file('id'), flags, command: ['http'] })
    await client.waitForOutput(/-> -R/)
    await listener[Symbol.asyncDispose]()
    assert.equal(await client.ended, 1)
    assert.match(client.stderr, /The gateway is stopping/)
    assert.equal(listener.gateway.sessions.size, 0)
  })
})
