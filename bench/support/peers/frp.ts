import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { outputOf, Running } from '../processes.ts'
import { cacheFolder, needTool } from '../tools.ts'
import type { Contender, Upstream } from './contender.ts'
import { freePort } from '../../../test/support/free-ports.ts'

const VERSION = 'v0.65.0'
const HOST = 'bench.localhost'

/** The folder with both programs, built from source on first use. */
async function built(): Promise<string> {
  const folder = cacheFolder(`frp-${VERSION}`)
  const go = needTool('go')
  // A module that requires one version: the other way needs a version list that mirrors may not have.
  const module = `module bench\n\ngo 1.24\n\nrequire github.com/fatedier/frp ${VERSION}\n`
  if (!existsSync(join(folder, 'go.mod'))) writeFileSync(join(folder, 'go.mod'), module)
  for (const name of ['frps', 'frpc']) {
    if (existsSync(join(folder, name))) continue
    const env = { GOFLAGS: '-mod=mod -buildvcs=false' }
    await outputOf(go, ['build', '-o', name, `github.com/fatedier/frp/cmd/${name}`], { cwd: folder, env })
  }
  return folder
}

/** frp with its defaults: yamux over TLS. */
export async function frp(folder: string, upstream: Upstream): Promise<Contender> {
  const programs = await built()
  const own = join(folder, 'frp')
  mkdirSync(own, { recursive: true })
  const [link, http, tcp] = [await freePort(), await freePort(), await freePort()]
  const quiet = 'log.level = "error"\n'
  writeFileSync(
    join(own, 'frps.toml'),
    `bindAddr = "127.0.0.1"\nproxyBindAddr = "127.0.0.1"\nbindPort = ${link}\nvhostHTTPPort = ${http}\n${quiet}`,
  )
  const proxy = (type: string, port: number, more: string) =>
    `[[proxies]]\nname = "${type}"\ntype = "${type}"\nlocalIP = "127.0.0.1"\nlocalPort = ${port}\n${more}\n`
  writeFileSync(
    join(own, 'frpc.toml'),
    `serverAddr = "127.0.0.1"\nserverPort = ${link}\n${quiet}` +
      proxy('http', upstream.http, `customDomains = ["${HOST}"]`) +
      proxy('tcp', upstream.tcp, `remotePort = ${tcp}`),
  )
  const server = new Running(join(programs, 'frps'), ['-c', join(own, 'frps.toml')])
  await server.listens(link)
  const client = new Running(join(programs, 'frpc'), ['-c', join(own, 'frpc.toml')])
  await client.listens(tcp)
  return {
    name: 'frp',
    http: { port: http, host: HOST },
    tcp: { port: tcp, host: 'localhost' },
    pids: [server.pid, client.pid],
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}
