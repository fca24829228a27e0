import { once } from 'node:events'
import { createReadStream, readFileSync, statSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent, createServer, get } from 'node:https'
import type { AddressInfo } from 'node:net'
import { pipeline, type Readable } from 'node:stream'
import { codings } from '#http/compression/accept-encoding.ts'
import { methods } from '#http/compression/engines.ts'
import { answerJobs } from './answer-jobs.ts'

/** Serves a file over TLS, compressed as the client accepts: the minimum for a server with node:zlib. */
export interface PipeJob {
  readonly file: string
  readonly key: string
  readonly certificate: string
  /** The port of another such server that has the file, as a gateway gets it from its agent; 0: it is read here. */
  readonly origin: number
}

export interface PipeAnswer {
  readonly port: number
}

async function serve({ file, key, certificate, origin }: PipeJob): Promise<PipeAnswer> {
  const { size } = statSync(file)
  const identity = { key: readFileSync(key), cert: readFileSync(certificate) }
  const agent = new Agent({ keepAlive: true, ca: identity.cert, checkServerIdentity: () => undefined })
  const source = async (): Promise<Readable> => {
    if (origin === 0) return createReadStream(file)
    const [response] = await once(get({ port: origin, host: '127.0.0.1', agent }), 'response')
    return response as IncomingMessage
  }
  const server = createServer(identity, (request, response) => {
    const coding = codings.find(each => each === request.headers['accept-encoding'])
    response.writeHead(200, { 'content-type': 'text/plain', ...(coding && { 'content-encoding': coding }) })
    const send = async (): Promise<void> => {
      const body = await source()
      // A client that disconnects ends all of it; it may have done so while the body was requested.
      const done = (): void => undefined
      if (response.destroyed) body.destroy()
      else if (coding === undefined) pipeline(body, response, done)
      else pipeline(body, methods[coding].create(size), response, done)
    }
    void send()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { port: (server.address() as AddressInfo).port }
}

answerJobs(serve)
