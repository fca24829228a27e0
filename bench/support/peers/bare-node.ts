import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ServerPorts } from '../mux-relay-program.ts'
import type { PipePorts } from '../pipe-relay-program.ts'
import { ask, program } from '../programs.ts'
import type { RelayJob } from '../relay-jobs.ts'
import type { Contender, Upstream } from './contender.ts'
import { newCertificate } from './nginx.ts'

type Addresses = Pick<Contender, 'http' | 'https' | 'http2' | 'tcp'>

interface Program<Ports> {
  readonly name: string
  readonly file: string
  readonly addresses: (ports: Ports) => Addresses
}

async function bare<Ports extends { readonly link: number }>(
  folder: string,
  { http, tcp }: Upstream,
  { name, file, addresses }: Program<Ports>,
): Promise<Contender> {
  await using started = new AsyncDisposableStack()
  const files = await newCertificate(join(folder, name.replaceAll(/\W/g, '-')))
  const start = () => started.adopt(program(file), child => void child.kill())
  const [server, agent] = [start(), start()]
  const ports = await ask<Ports>(server, {
    role: 'server',
    cert: readFileSync(files.certificate, 'utf8'),
    key: readFileSync(files.key, 'utf8'),
  } satisfies RelayJob)
  await ask(agent, { role: 'agent', link: ports.link, http, tcp } satisfies RelayJob)
  const running = started.move()
  return {
    name,
    ...addresses(ports),
    pids: [server.pid ?? -1, agent.pid ?? -1],
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

const at = (port: number) => ({ port, host: 'localhost' })
const MUX = 'mux-relay-program.ts'

export const BARE = 'bare Node'
export const BARE_HTTP = 'bare Node HTTP/1'
export const BARE_PIPES = 'bare Node pipes'

/**
 * Two bare programs of Node with one TLS connection between them, which relay bytes: what the engine allows, without
 * any product. HTTP/2 is that of Adit, because `node:http2` is slower.
 */
export const bareNode = (folder: string, upstream: Upstream): Promise<Contender> =>
  bare<ServerPorts>(folder, upstream, {
    name: BARE,
    file: MUX,
    addresses: ({ http, https, http2, tcp }) => ({
      http: at(http),
      https: at(https),
      http2: at(http2),
      tcp: at(tcp),
    }),
  })

/** The same with the HTTP/1 of Adit to clients and services, without routing, log and limits. */
export const bareNodeHttp = (folder: string, upstream: Upstream): Promise<Contender> =>
  bare<ServerPorts>(folder, upstream, {
    name: BARE_HTTP,
    file: MUX,
    addresses: ({ http1, https1 }) => ({ http: at(http1), https: at(https1) }),
  })

/** Two bare programs with a TLS connection for each client: what bulk costs without frames. */
export const bareNodePipes = (folder: string, upstream: Upstream): Promise<Contender> =>
  bare<PipePorts>(folder, upstream, {
    name: BARE_PIPES,
    file: 'pipe-relay-program.ts',
    addresses: ({ http, https, tcp }) => ({ http: at(http), https: at(https), tcp: at(tcp) }),
  })
