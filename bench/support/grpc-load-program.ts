import { readFileSync } from 'node:fs'
import * as grpc from '@grpc/grpc-js'
import { echoService } from './grpc-service.ts'
import { answerJobs } from './answer-jobs.ts'

export interface GrpcJob {
  readonly port: number
  readonly host: string
  /** The file of the CA, or of the certificate. */
  readonly ca: string
  readonly work: 'unary' | 'stream'
  /** Calls at a time. */
  readonly calls: number
  readonly milliseconds: number
}

export interface GrpcFigures {
  /** Calls, or messages there and back. */
  readonly perSecond: number
}

const MESSAGE = Buffer.alloc(64, 'g')
const { unary, stream } = echoService

/** Calls one after the other, until reported otherwise. */
async function callAgain(client: grpc.Client, count: () => void, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    client.makeUnaryRequest(unary.path, unary.requestSerialize, unary.responseDeserialize, MESSAGE, error =>
      error === null ? resolve() : reject(error),
    )
    await promise
    count()
  }
}

/** Sends each message when the one before has come back. */
async function echoAgain(client: grpc.Client, count: () => void, isOver: () => boolean): Promise<void> {
  const call = client.makeBidiStreamRequest(stream.path, stream.requestSerialize, stream.responseDeserialize)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  call.on('error', reject).on('end', resolve)
  call.on('data', () => {
    count()
    if (isOver()) call.end()
    else call.write(MESSAGE)
  })
  call.write(MESSAGE)
  await promise
}

async function measure({ port, host, ca, work, calls, milliseconds }: GrpcJob): Promise<GrpcFigures> {
  const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createSsl(readFileSync(ca)), {
    'grpc.ssl_target_name_override': host,
    'grpc.default_authority': host,
  })
  let done = 0
  const start = performance.now()
  const isOver = () => performance.now() - start > milliseconds
  const one = work === 'unary' ? callAgain : echoAgain
  try {
    await Promise.all(Array.from({ length: calls }, () => one(client, () => done++, isOver)))
  } finally {
    client.close()
  }
  return { perSecond: (done / (performance.now() - start)) * 1000 }
}

answerJobs(measure)
