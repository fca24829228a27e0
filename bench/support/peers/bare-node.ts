import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MuxRelayJob, ServerPorts } from '../mux-relay-program.ts'
import { ask, program } from '../programs.ts'
import type { Contender, Upstream } from './contender.ts'
import { newCertificate } from './nginx.ts'

/**
 * Two bare programs of Node with one TLS connection between them: what the engine allows, without any product. HTTP/2
 * is that of Adit, because `node:http2` is slower.
 */
export async function bareNode(folder: string, { http, tcp }: Upstream): Promise<Contender> {
  await using started = new AsyncDisposableStack()
  const files = await newCertificate(join(folder, 'bare-node'))
  const start = () => started.adopt(program('mux-relay-program.ts'), child => void child.kill())
  const [server, agent] = [start(), start()]
  const ports = await ask<ServerPorts>(server, {
    role: 'server',
    cert: readFileSync(files.certificate, 'utf8'),
    key: readFileSync(files.key, 'utf8'),
  } satisfies MuxRelayJob)
  await ask(agent, { role: 'agent', link: ports.link, http, tcp } satisfies MuxRelayJob)
  const running = started.move()
  return {
    name: 'bare Node',
    http: { port: ports.http, host: 'localhost' },
    https: { port: ports.https, host: 'localhost' },
    http2: { port: ports.http2, host: 'localhost' },
    tcp: { port: ports.tcp, host: 'localhost' },
    pids: [server.pid ?? -1, agent.pid ?? -1],
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
