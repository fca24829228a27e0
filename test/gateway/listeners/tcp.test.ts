import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { suite, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Admission, type AdmissionLimits } from '#gateway/listeners/admission.ts'
import type { L4Upstream } from '#gateway/listeners/l4-proxy.ts'
import { TcpPorts } from '#gateway/listeners/tcp.ts'
import type { SpliceEnd } from '#tunnel/splice.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import { sessionPair } from '../../tunnel/support.ts'
import { HOST, open, portOf, log, startUpstream, tunnelTo } from './support.ts'
import { steady, until } from '../../support/until.ts'

const MIB = 1024 * 1024

function newPorts(limits: Partial<AdmissionLimits> = {}): TcpPorts & AsyncDisposable {
  const ports = new TcpPorts({ admission: new Admission(limits), log, host: HOST })
  return Object.assign(ports, { [Symbol.asyncDispose]: () => ports.drain(0) })
}

const pieces = Array.from({ length: 8 }, (_, index) => Buffer.alloc(MIB, hash('sha256', String(index))))

/** The same few pieces again and again, so that memory which grows is not that of the test. */
function* flood(mebibytes: number): Generator<Buffer> {
  for (let index = 0; index < mebibytes; index++) yield pieces[index % pieces.length] ?? Buffer.alloc(0)
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** The memory of buffers that are in use, without what is only not collected yet. */
function heldBytes(): number {
  collect()
  // The memory of buffers is freed by another thread, for which the next collection waits.
  collect()
  return process.memoryUsage().arrayBuffers
}

/** The number of bytes of a stream; reports after each 8 MiB. */
async function lengthOf(source: AsyncIterable<Buffer>, onEach8MiB = () => {}): Promise<number> {
  let length = 0
  for await (const chunk of source) {
    const before = length
    length += chunk.length
    if (Math.floor(length / (8 * MIB)) > Math.floor(before / (8 * MIB))) onEach8MiB()
  }
  return length
}

suite('a TCP endpoint', () => {
  test('forwards bytes and the half-close of either side', async () => {
    const got: string[] = []
    await using upstream = await startUpstream(socket => {
      socket.on('data', bytes => got.push(String(bytes)))
      socket.on('end', () => socket.end(`you said ${got.join('')}`))
    })
    await using ports = newPorts()
    const port = await ports.open(0, tunnelTo(portOf(upstream)))
    const client = await open(port)
    client.end('hello')
    assert.equal(await text(client), 'you said hello')
  })

  test('forwards the half-close of the upstream first', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    await using upstream = await startUpstream(socket => {
      socket.end('bye')
      text(socket).then(resolve, resolve)
    })
    await using ports = newPorts()
    const ended = Promise.withResolvers<SpliceEnd>()
    const way = tunnelTo(portOf(upstream), { ended: (_, end) => ended.resolve(end) })
    const client = await open(await ports.open(0, way))
    let got = ''
    client.on('data', bytes => (got += String(bytes)))
    await once(client, 'end')
    assert.equal(got, 'bye')
    client.end('after your end')
    assert.equal(await promise, 'after your end')
    assert.deepEqual(await ended.promise, { received: 14, sent: 3, error: undefined })
  })

  test('carries 64 MiB each way at once in bounded memory', async () => {
    const came = Promise.withResolvers<number>()
    await using upstream = await startUpstream(socket => {
      lengthOf(socket).then(came.resolve, came.reject)
      pipeline(Readable.from(flood(64)), socket, { end: true }).catch(came.reject)
    })
    await using ports = newPorts()
    const client = await open(await ports.open(0, tunnelTo(portOf(upstream))))
    const before = heldBytes()
    let peak = 0
    const sending = pipeline(Readable.from(flood(64)), client)
    // By bytes rather than by time: on a busy machine a collection takes longer than any interval.
    const measured = lengthOf(client, () => (peak = Math.max(peak, heldBytes())))
    const [received] = await Promise.all([measured, sending])
    assert.deepEqual([received, await came.promise], [64 * MIB, 64 * MIB])
    assert.ok(peak - before < 16 * MIB, `held ${Math.round((peak - before) / MIB)} MiB`)
  })

  test('buffers no more than the windows for a client or an upstream that does not read', async () => {
    const stalled = Promise.withResolvers<Socket>()
    await using upstream = await startUpstream(socket => {
      socket.pause()
      for (const piece of flood(32)) socket.write(piece)
      stalled.resolve(socket)
    })
    await using ports = newPorts()
    const client = (await open(await ports.open(0, tunnelTo(portOf(upstream))))).pause()
    for (const piece of flood(32)) client.write(piece)
    const far = await stalled.promise
    // What is in flight fills the buffers of the system and the windows, and then stands still on both sides.
    await steady(() => far.writableLength + client.writableLength)
    assert.ok(far.writableLength > 16 * MIB, `${far.writableLength} bytes wait at the upstream`)
    assert.ok(client.writableLength > 16 * MIB, `${client.writableLength} bytes are buffered at the client`)
    far.destroy()
    client.destroy()
  })

  test('forwards a reset of the client', async () => {
    const closed = Promise.withResolvers<unknown>()
    await using upstream = await startUpstream(socket => {
      socket.write('hello')
      socket.resume().on('close', closed.resolve)
      socket.on('end', () => socket.end())
    })
    await using ports = newPorts()
    const ended = Promise.withResolvers<SpliceEnd>()
    const way = tunnelTo(portOf(upstream), { ended: (_, end) => ended.resolve(end) })
    const client = await open(await ports.open(0, way))
    await once(client, 'data')
    client.resetAndDestroy()
    await closed.promise
    assert.match(String((await ended.promise).error), /ECONNRESET/)
  })

  test('resets the client when the agent is lost', async () => {
    const { gateway } = sessionPair({}, { accept: (_, stream) => stream.write(Buffer.from('hello')) })
    await using ports = newPorts()
    const way: L4Upstream = { dial: (_, first) => gateway.open(streamTypes.proxy, first) }
    const client = await open(await ports.open(0, way))
    await once(client, 'data')
    gateway.close()
    await assert.rejects(buffer(client), { code: 'ECONNRESET' })
  })

  test('resets the client when it cannot be reached, and counts it', async () => {
    await using ports = newPorts()
    const ended = Promise.withResolvers<SpliceEnd>()
    const dial = () => Promise.reject(new Error('offline'))
    const port = await ports.open(0, { dial, ended: (_, end) => ended.resolve(end) })
    await assert.rejects(open(port).then(buffer), { code: 'ECONNRESET' })
    assert.match(String((await ended.promise).error), /offline/)
  })

  test('sends a PROXY header to the upstream if configured', async () => {
    await using upstream = await startUpstream(socket => socket.pipe(socket))
    await using ports = newPorts()
    const port = await ports.open(0, tunnelTo(portOf(upstream), { proxyProtocol: 1 }))
    const client = await open(port)
    client.end('hello')
    const { localPort } = client
    assert.equal(await text(client), `PROXY TCP4 ${HOST} ${HOST} ${localPort} ${port}\r\nhello`)
  })

  test('aborts a stream that was opened for a client that has disconnected', async () => {
    const dialled = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<void>()
    const finished = Promise.withResolvers<void>()
    const { gateway } = sessionPair(
      {},
      { accept: (_, stream) => stream.attach({ data() {}, end: finished.resolve, closed() {} }) },
    )
    await using ports = newPorts()
    const port = await ports.open(0, {
      async dial(_, first) {
        dialled.resolve()
        await answer.promise
        return gateway.open(streamTypes.proxy, first)
      },
    })
    const client = await open(port)
    await dialled.promise
    client.resetAndDestroy()
    await until(() => ports.connections === 0)
    answer.resolve()
    await finished.promise
  })
})

suite('TCP ports', () => {
  const nowhere: L4Upstream = { dial: () => new Promise(() => undefined) }

  test('that are in use are refused with a code', async () => {
    await using ports = newPorts()
    const other = createServer()
    await once(other.listen(0, HOST), 'listening')
    await assert.rejects(ports.open(portOf(other), nowhere), { code: 'EADDRINUSE' })
    assert.deepEqual(ports.ports, [])
    const own = await ports.open(0, nowhere)
    await assert.rejects(ports.open(own, nowhere), { code: 'EADDRINUSE' })
    other.close()
  })

  test('can be opened again after they were closed, while old connections stay open', async () => {
    await using echo = await startUpstream(socket => socket.pipe(socket))
    await using ports = newPorts()
    const port = await ports.open(0, tunnelTo(portOf(echo)))
    const client = await open(port)
    client.write('a')
    await once(client, 'data')
    ports.close(port)
    await assert.rejects(open(port), { code: 'ECONNREFUSED' })
    assert.equal(await ports.open(port, tunnelTo(portOf(echo))), port)
    client.end('b')
    assert.equal(await text(client), 'b')
  })

  test('accept no more connections than allowed', async () => {
    await using ports = newPorts({ total: 2 })
    const port = await ports.open(0, nowhere)
    const clients = [await open(port), await open(port)]
    await assert.rejects(open(port).then(buffer), { code: 'ECONNRESET' })
    assert.equal(ports.connections, 2)
    for (const client of clients) client.destroy()
  })

  test('are drained: open connections may finish until the deadline', async () => {
    await using echo = await startUpstream(socket => socket.pipe(socket))
    const ports = newPorts()
    const port = await ports.open(0, tunnelTo(portOf(echo)))
    const [quick, endless] = [await open(port), await open(port)]
    quick.write('x')
    await once(quick, 'data')
    endless.write('x')
    await once(endless, 'data')
    const draining = ports.drain(3000)
    // Those that the system has accepted are taken first, which is a few turns.
    const refusal = () =>
      open(port).then(
        socket => void socket.destroy(),
        (error: NodeJS.ErrnoException) => error.code,
      )
    assert.equal(await until(refusal), 'ECONNREFUSED')
    quick.end('last')
    assert.equal(await text(quick), 'last')
    endless.on('error', () => undefined)
    await draining
    assert.equal(ports.connections, 0)
  })
})
