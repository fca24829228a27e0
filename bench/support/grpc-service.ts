import type { MethodDefinition } from '@grpc/grpc-js'

const same = (bytes: Buffer): Buffer => bytes

const echo = (path: string, isStream: boolean): MethodDefinition<Buffer, Buffer> => ({
  path,
  requestStream: isStream,
  responseStream: isStream,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
})

/** A service that returns its messages. */
export const echoService = {
  unary: echo('/bench.Echo/Unary', false),
  stream: echo('/bench.Echo/Stream', true),
} as const
