import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import { LatencyHistogram } from '#base/latency-histogram.ts'
import { bodyOf } from '#http/body.ts'
import type { Endpoint, Reply } from '#http/exchange.ts'
import { Fields } from '#http/fields.ts'
import { serveHttp1 } from '#http/http1-server-connection.ts'
import { answerJobs } from './answer-jobs.ts'

/**
 * Serves so many hosts and paths over TLS with the HTTP/1 of the gateway, and counts the requests of each host: what no
 * gateway can do without. There are no modules, log or limits.
 */
export interface BareRoutesJob {
  readonly key: string
  readonly certificate: string
  readonly hosts: readonly string[]
  readonly paths: readonly string[]
}

export interface BareRoutesAnswer {
  readonly port: number
}

/** A host, as the gateway has an edge. */
class Host {
  readonly latency = new LatencyHistogram()
  readonly #routes: ReadonlyMap<string, { readonly reply: Promise<Reply> }>
  requests = 0

  constructor(paths: readonly string[], reply: Promise<Reply>) {
    this.#routes = new Map(paths.map(path => [path, { reply }]))
  }

  answer(path: string, begun: number): Promise<Reply> {
    this.requests++
    this.latency.add(performance.now() - begun)
    return this.#routes.get(path)?.reply ?? Promise.reject(new Error('There is no such route.'))
  }
}

function endpoint({ hosts, paths }: BareRoutesJob): Endpoint {
  const body = bodyOf(Buffer.from('one'))
  const fields = new Fields('Content-Type: text/plain; charset=utf-8\r\n')
  const reply = Promise.resolve({ head: { status: 200, reason: 'OK', framing: body.framing, fields }, body })
  const known = new Map(hosts.map(host => [host, new Host(paths, reply)]))
  return ({ head, context }) =>
    known.get(head.host)?.answer(head.path, context.begun) ??
    Promise.reject(new Error(`There is no host ${head.host}.`))
}

async function serve(job: BareRoutesJob): Promise<BareRoutesAnswer> {
  const identity = { key: readFileSync(job.key), cert: readFileSync(job.certificate), allowHalfOpen: true }
  const answer = endpoint(job)
  const server = createServer(identity, (socket: TLSSocket) => {
    const { remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 } = socket
    const place = { ip: remoteAddress, port: remotePort, localIp: localAddress, localPort }
    serveHttp1(socket, { client: { ...place, scheme: 'https', serverName: undefined }, answer })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { port: (server.address() as AddressInfo).port }
}

answerJobs(serve)
