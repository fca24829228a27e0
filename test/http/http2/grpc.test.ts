import assert from 'node:assert/strict'
import { once } from 'node:events'
import { constants, createServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { suite, test } from 'node:test'
import * as grpc from '@grpc/grpc-js'
import { http2Backend } from '#gateway/backends/http2-upstream.ts'
import { tunnel } from './upstream-server.ts'
import { gateway, SocketStream, type Gateway } from './support.ts'

const same = (bytes: Buffer): Buffer => bytes
const method = (path: string, requestStream: boolean, responseStream: boolean) => ({
  path: `/test.Echo/${path}`,
  requestStream,
  responseStream,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
})

const service = {
  unary: method('unary', false, false),
  down: method('down', false, true),
  up: method('up', true, false),
  both: method('both', true, true),
}

const implementation: grpc.UntypedServiceImplementation = {
  unary(call: grpc.ServerUnaryCall<Buffer, Buffer>, done: grpc.sendUnaryData<Buffer>) {
    if (call.request.toString() === 'fail') {
      const metadata = new grpc.Metadata()
      metadata.set('x-why', 'asked for')
      done({ code: grpc.status.FAILED_PRECONDITION, details: 'wie gewünscht', metadata })
      return
    }
    const metadata = new grpc.Metadata()
    metadata.set('x-who', call.metadata.get('x-who')[0] ?? '')
    metadata.set('user_id', call.metadata.get('user_id')[0] ?? '')
    call.sendMetadata(metadata)
    const trailer = new grpc.Metadata()
    trailer.set('x-end', 'well')
    done(null, Buffer.from(`unary ${call.request.toString()}`), trailer)
  },
  down(call: grpc.ServerWritableStream<Buffer, Buffer>) {
    for (let at = 0; at < 5; at++) call.write(Buffer.from(`${call.request.toString()} ${at}`))
    call.end()
  },
  up(call: grpc.ServerReadableStream<Buffer, Buffer>, done: grpc.sendUnaryData<Buffer>) {
    const parts: string[] = []
    call.on('data', (bytes: Buffer) => parts.push(bytes.toString()))
    call.on('end', () => done(null, Buffer.from(parts.join('+'))))
  },
  both(call: grpc.ServerDuplexStream<Buffer, Buffer>) {
    call.on('data', (bytes: Buffer) => call.write(Buffer.from(`echo ${bytes.toString()}`)))
    call.on('end', () => call.end())
  },
}

interface Line extends AsyncDisposable {
  readonly client: grpc.Client
}

/** A gRPC client, the gateway, and a gRPC server behind it. */
async function line(): Promise<Line> {
  const server = new grpc.Server()
  server.addService(service, implementation)
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  )
  const far = await lineTo(port)
  return {
    ...far,
    async [Symbol.asyncDispose]() {
      server.forceShutdown()
      await far[Symbol.asyncDispose]()
    },
  }
}

/** A gRPC client, and the gateway in front of a service. */
async function lineTo(port: number): Promise<Line> {
  const backend = http2Backend({ dial: () => SocketStream.to(port), tunnel })
  const host: Gateway = await gateway(backend)
  const credentials = grpc.credentials.createSsl(host.certificate)
  const client = new grpc.Client(`127.0.0.1:${host.port}`, credentials, {
    'grpc.ssl_target_name_override': 'localhost',
    'grpc.default_authority': 'localhost',
  })
  return {
    client,
    async [Symbol.asyncDispose]() {
      client.close()
      backend.close()
      await host[Symbol.asyncDispose]()
    },
  }
}

suite('gRPC through the gateway', () => {
  test('a unary call, with metadata and trailers', async () => {
    await using far = await line()
    const metadata = new grpc.Metadata()
    metadata.set('x-who', 'me')
    metadata.set('user_id', '7')
    const answered = Promise.withResolvers<Buffer | undefined>()
    const call = far.client.makeUnaryRequest(
      '/test.Echo/unary',
      same,
      same,
      Buffer.from('hi'),
      metadata,
      (error, value) => (error ? answered.reject(error) : answered.resolve(value)),
    )
    const head = Promise.withResolvers<grpc.Metadata>()
    const status = Promise.withResolvers<grpc.StatusObject>()
    call.on('metadata', head.resolve)
    call.on('status', status.resolve)
    assert.equal((await answered.promise)?.toString(), 'unary hi')
    assert.deepEqual((await head.promise).get('x-who'), ['me'])
    assert.deepEqual((await head.promise).get('user_id'), ['7'])
    assert.deepEqual((await status.promise).metadata.get('x-end'), ['well'])
  })

  test('a call that fails has its status', async () => {
    await using far = await line()
    const error = await new Promise<grpc.ServiceError | null>(resolve =>
      far.client.makeUnaryRequest('/test.Echo/unary', same, same, Buffer.from('fail'), resolve),
    )
    assert.equal(error?.code, grpc.status.FAILED_PRECONDITION)
    assert.equal(error.details, 'wie gewünscht')
    assert.deepEqual(error.metadata.get('x-why'), ['asked for'])
    const unknown = await new Promise<grpc.ServiceError | null>(resolve =>
      far.client.makeUnaryRequest('/test.Echo/none', same, same, Buffer.from('x'), resolve),
    )
    assert.equal(unknown?.code, grpc.status.UNIMPLEMENTED)
  })

  test('a stream from the server', async () => {
    await using far = await line()
    const call = far.client.makeServerStreamRequest('/test.Echo/down', same, same, Buffer.from('n'))
    const got: string[] = []
    for await (const bytes of call) got.push(String(bytes))
    assert.deepEqual(got, ['n 0', 'n 1', 'n 2', 'n 3', 'n 4'])
  })

  test('a stream from the client', async () => {
    await using far = await line()
    const answered = Promise.withResolvers<Buffer | undefined>()
    const call = far.client.makeClientStreamRequest<Buffer, Buffer>(
      '/test.Echo/up',
      same,
      same,
      (error, value) => (error ? answered.reject(error) : answered.resolve(value)),
    )
    for (const part of ['a', 'b', 'c']) call.write(Buffer.from(part))
    call.end()
    assert.equal((await answered.promise)?.toString(), 'a+b+c')
  })

  test('streams in both directions, turn by turn', async () => {
    await using far = await line()
    const call = far.client.makeBidiStreamRequest<Buffer, Buffer>('/test.Echo/both', same, same)
    for (const part of ['one', 'two', 'three']) {
      const next = once(call, 'data')
      call.write(Buffer.from(part))
      assert.equal(String((await next)[0]), `echo ${part}`)
    }
    const status = once(call, 'status')
    call.end()
    assert.equal((await status)[0].code, grpc.status.OK)
  })

  test('a stream without a message ends after its head, as gRPC servers need it', async () => {
    await using upstream = createServer()
    const seen = Promise.withResolvers<number>()
    upstream.on('stream', (stream: ServerHttp2Stream, _headers, flags) => {
      seen.resolve(flags & constants.NGHTTP2_FLAG_END_STREAM)
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '0' })
      stream.resume().on('end', () => stream.end())
    })
    await once(upstream.listen(0, '127.0.0.1'), 'listening')
    const { port } = upstream.address() as AddressInfo
    await using far = await lineTo(port)
    const call = far.client.makeBidiStreamRequest<Buffer, Buffer>('/test.Echo/both', same, same)
    call.resume().on('error', () => undefined)
    call.end()
    assert.equal(await seen.promise, 0)
    call.cancel()
  })

  test('two hundred calls at once', async () => {
    await using far = await line()
    const calls = Array.from(
      { length: 200 },
      (_, at) =>
        new Promise<string>((resolve, reject) =>
          far.client.makeUnaryRequest(
            '/test.Echo/unary',
            same,
            same,
            Buffer.from(String(at)),
            (error, value) => (error ? reject(error) : resolve(String(value))),
          ),
        ),
    )
    assert.deepEqual(
      await Promise.all(calls),
      Array.from({ length: 200 }, (_, at) => `unary ${at}`),
    )
  })
})
