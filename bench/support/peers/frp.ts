import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RunningProgram } from '../processes.ts'
import { goPrograms } from './builds.ts'
import { serverAndClient, type Contender, type Upstream } from './contender.ts'
import { freePort } from '../../../test/support/free-ports.ts'

const HOST = 'bench.localhost'

interface Configuration {
  readonly name: string
  readonly server: string
  readonly client: string
}

/** Yamux over TLS. */
const defaults: Configuration = { name: 'frp', server: '', client: '' }

/** Everything that costs time is off: no encryption, and a connection of its own, opened in advance, for each stream. */
const fastest: Configuration = {
  name: 'frp fastest',
  server: 'transport.tcpMux = false\ntransport.maxPoolCount = 64\n',
  client: 'transport.tcpMux = false\ntransport.poolCount = 64\ntransport.tls.enable = false\n',
}

export const frp = (folder: string, upstream: Upstream): Promise<Contender> =>
  started(defaults, folder, upstream)

export const frpFastest = (folder: string, upstream: Upstream): Promise<Contender> =>
  started(fastest, folder, upstream)

async function started(configuration: Configuration, folder: string, upstream: Upstream): Promise<Contender> {
  const programs = await goPrograms('frp', {
    module: 'github.com/fatedier/frp',
    version: 'v0.65.0',
    programs: { frps: '/cmd/frps', frpc: '/cmd/frpc' },
  })
  const own = join(folder, configuration.name)
  mkdirSync(own, { recursive: true })
  const [link, http, tcp] = [await freePort(), await freePort(), await freePort()]
  const quiet = 'log.level = "error"\n'
  writeFileSync(
    join(own, 'frps.toml'),
    `bindAddr = "127.0.0.1"\nproxyBindAddr = "127.0.0.1"\nbindPort = ${link}\nvhostHTTPPort = ${http}\n${quiet}` +
      configuration.server,
  )
  const proxy = (type: string, port: number, more: string) =>
    `[[proxies]]\nname = "${type}"\ntype = "${type}"\nlocalIP = "127.0.0.1"\nlocalPort = ${port}\n${more}\n`
  writeFileSync(
    join(own, 'frpc.toml'),
    `serverAddr = "127.0.0.1"\nserverPort = ${link}\n${quiet}` +
      configuration.client +
      proxy('http', upstream.http, `customDomains = ["${HOST}"]`) +
      proxy('tcp', upstream.tcp, `remotePort = ${tcp}`),
  )
  const server = new RunningProgram(join(programs, 'frps'), ['-c', join(own, 'frps.toml')])
  await server.listens(link)
  const client = new RunningProgram(join(programs, 'frpc'), ['-c', join(own, 'frpc.toml')])
  await client.listens(tcp)
  return {
    name: configuration.name,
    http: { port: http, host: HOST },
    tcp: { port: tcp, host: 'localhost' },
    ...serverAndClient(server, client),
  }
}
