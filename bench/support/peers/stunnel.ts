import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RunningProgram } from '../processes.ts'
import { needTool } from '../tools.ts'
import { serverAndClient, type Contender, type Upstream } from './contender.ts'
import { newCertificate } from './nginx.ts'
import { freePort } from '../../../test/support/free-ports.ts'

/** Two stunnels: TCP in, TLS between them, TCP out. */
export async function stunnelPair(folder: string, upstream: Upstream): Promise<Contender> {
  const own = join(folder, 'stunnel')
  const { key, certificate } = await newCertificate(own)
  const [outer, link] = [await freePort(), await freePort()]
  const common = 'foreground = yes\npid =\ndebug = err\nsocket = l:TCP_NODELAY=1\nsocket = r:TCP_NODELAY=1\n'
  const files = {
    client: `${common}[t]\nclient = yes\naccept = 127.0.0.1:${outer}\nconnect = 127.0.0.1:${link}\n`,
    server: `${common}[t]\ncert = ${certificate}\nkey = ${key}\naccept = 127.0.0.1:${link}\nconnect = 127.0.0.1:${upstream.tcp}\n`,
  }
  const start = async (name: keyof typeof files, port: number) => {
    const file = join(own, `${name}.conf`)
    writeFileSync(file, files[name])
    const running = new RunningProgram(needTool('stunnel'), [file])
    await running.listens(port)
    return running
  }
  const server = await start('server', link)
  const client = await start('client', outer)
  return {
    name: 'stunnel pair',
    tcp: { port: outer, host: 'localhost' },
    ...serverAndClient(server, client),
  }
}
