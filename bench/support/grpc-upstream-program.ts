import * as grpc from '@grpc/grpc-js'
import { echoService } from './grpc-service.ts'

/** Behind gRPC tunnels: returns every message. */
process.on('message', () => {
  const server = new grpc.Server()
  server.addService(echoService, {
    unary: (call: grpc.ServerUnaryCall<Buffer, Buffer>, done: grpc.sendUnaryData<Buffer>) =>
      done(null, call.request),
    stream: (call: grpc.ServerDuplexStream<Buffer, Buffer>) => {
      call.on('data', (bytes: Buffer) => call.write(bytes))
      call.on('end', () => call.end())
    },
  })
  server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) =>
    process.send?.(error === null ? { port } : { error: String(error) }),
  )
})
