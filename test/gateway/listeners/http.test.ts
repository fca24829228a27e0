import assert from 'node:assert/strict'
import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { suite, test } from 'node:test'
import { Admission } from '#gateway/listeners/admission.ts'
import { HttpListener, type HttpListenerOptions } from '#gateway/listeners/http.ts'
import { ask, HOST, open, log, describeClient } from './support.ts'
import { until } from '../../support/until.ts'

async function start(options: Partial<HttpListenerOptions> = {}, host = HOST) {
  const listener = new HttpListener({
    admission: new Admission(),
    log,
    http1: describeClient('http/1.1'),
    ...options,
  })
  const { port } = await listener.listen({ host, port: 0 })
  return { listener, port, [Symbol.asyncDispose]: () => listener.drain(0) }
}

suite('HTTP clients', () => {
  test('are described by the sockets, IPv4 as IPv4', async () => {
    await using http = await start({}, '::')
    const client = await open(http.port)
    const { localPort } = client
    const { since, ...described } = await ask(client)
    assert.equal(typeof since, 'number')
    assert.deepEqual(described, {
      protocol: 'http/1.1',
      ip: HOST,
      port: localPort,
      localIp: HOST,
      localPort: http.port,
      scheme: 'http',
    })
  })

  test('get a 503 when the connection limit is reached', async () => {
    const admission = new Admission({ total: 1 })
    await using http = await start({ admission })
    const first = await open(http.port)
    const second = await open(http.port)
    second.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    const answer = (await buffer(second)).toString()
    assert.match(answer, /^HTTP\/1\.1 503 /)
    assert.match(answer, /ERR_ADIT_90047/)
    assert.equal(admission.refused, 1)
    first.destroy()
    await until(() => admission.open === 0)
    assert.equal((await ask(await open(http.port)))['scheme'], 'http')
  })

  test('complete their requests when the listener is drained, and are reset at the deadline', async () => {
    const drained: string[] = []
    const http = await start({
      http1: socket => {
        socket.resume()
        return { drain: () => drained.push(socket.destroyed ? 'late' : 'notified'), cut: () => undefined }
      },
    })
    const client = await open(http.port)
    client.on('error', () => undefined)
    await until(() => http.listener.connections > 0)
    const closed = once(client.resume(), 'close')
    client.on('end', () => client.end())
    await http.listener.drain(50)
    await closed
    assert.deepEqual(drained, ['notified'])
    assert.equal(http.listener.connections, 0)
    await assert.rejects(open(http.port), { code: 'ECONNREFUSED' })
  })

  test('do not crash the process by an error in their handler', async () => {
    await using http = await start({
      http1: () => {
        throw new Error('a fault')
      },
    })
    const client = await open(http.port)
    assert.equal((await buffer(client)).length, 0)
  })

  test('cannot be served on a port in use, with the error of the system', async () => {
    await using http = await start()
    const other = new HttpListener({ admission: new Admission(), log, http1: describeClient('') })
    await assert.rejects(other.listen({ host: HOST, port: http.port }), { code: 'EADDRINUSE' })
  })

  test('are shared by several listeners on one port', async () => {
    await using one = await start({ sharesPorts: () => true })
    await using two = new HttpListenerHandle(one.port)
    await two.listening
    assert.equal((await ask(await open(one.port)))['scheme'], 'http')
  })
})

class HttpListenerHandle implements AsyncDisposable {
  readonly #listener = new HttpListener({
    admission: new Admission(),
    log,
    sharesPorts: () => true,
    http1: describeClient('http/1.1'),
  })
  readonly listening: Promise<unknown>

  constructor(port: number) {
    this.listening = this.#listener.listen({ host: HOST, port })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#listener.drain(0)
  }
}

suite('admission', () => {
  test('limits connections for each address, and releases them', () => {
    const admission = new Admission({ perAddress: 2 })
    const [first, second] = [admission.admit('192.0.2.1'), admission.admit('192.0.2.1')]
    assert.deepEqual(admission.admit('192.0.2.1'), { ok: false, reason: 'address' })
    assert.ok(first.ok && second.ok && admission.admit('192.0.2.2').ok)
    first.release()
    first.release()
    assert.equal(admission.open, 2, 'leaving twice counts once')
    assert.ok(admission.admit('192.0.2.1').ok)
    assert.equal(admission.admit('192.0.2.1').ok, false)
  })

  test('counts a network of IPv6 as one address', () => {
    const admission = new Admission({ perAddress: 1 })
    assert.ok(admission.admit('2001:db8::1').ok)
    assert.equal(admission.admit('2001:db8::ffff:1').ok, false)
    assert.ok(admission.admit('2001:db8:0:1::1').ok)
  })

  test('applies only the total to loopback', () => {
    const admission = new Admission({ perAddress: 1, total: 3 })
    assert.ok(['127.0.0.1', '127.0.0.1', '::1'].every(ip => admission.admit(ip).ok))
    assert.deepEqual(admission.admit('127.0.0.1'), { ok: false, reason: 'full' })
  })
})
