import { once } from 'node:events'
import { createReadStream, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import type { Coding } from '#http/compression/accept-encoding.ts'
import { methods } from '#http/compression/engines.ts'
import { answerJobs } from './answer-jobs.ts'

/** Serves a file over TLS, compressed as the client accepts: the minimum for a server with node:zlib. */
export interface PipeJob {
  readonly file: string
  readonly key: string
  readonly certificate: string
}

export interface PipeAnswer {
  readonly port: number
}

async function serve({ file, key, certificate }: PipeJob): Promise<PipeAnswer> {
  const { size } = statSync(file)
  const identity = { key: readFileSync(key), cert: readFileSync(certificate) }
  const server = createServer(identity, (request, response) => {
    const coding = request.headers['accept-encoding'] as Coding
    response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': coding })
    // A client that disconnects ends all of it.
    pipeline(createReadStream(file), methods[coding].create(size), response, () => undefined)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { port: (server.address() as AddressInfo).port }
}

answerJobs(serve)
