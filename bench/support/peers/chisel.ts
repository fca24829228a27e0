import { join } from 'node:path'
import { RunningProgram, splitArguments } from '../processes.ts'
import { goPrograms } from './builds.ts'
import { serverAndClient, type Contender, type Upstream } from './contender.ts'
import { freePort } from '../../../test/support/free-ports.ts'

const HOST = '127.0.0.1'

/** chisel with its defaults: TCP over SSH in a WebSocket. */
export async function chisel(_folder: string, upstream: Upstream): Promise<Contender> {
  const folder = await goPrograms('chisel', {
    module: 'github.com/jpillora/chisel',
    version: 'v1.11.3',
    programs: { chisel: '' },
  })
  const program = join(folder, 'chisel')
  const [link, http, tcp] = [await freePort(), await freePort(), await freePort()]
  const server = new RunningProgram(program, splitArguments(`server --host ${HOST} --port ${link} --reverse`))
  await server.listens(link)
  const remote = (port: number, target: number) => `R:${HOST}:${port}:${HOST}:${target}`
  const client = new RunningProgram(program, [
    ...splitArguments(`client http://${HOST}:${link}`),
    remote(http, upstream.http),
    remote(tcp, upstream.tcp),
  ])
  await client.listens(http)
  await client.listens(tcp)
  return {
    name: 'chisel',
    http: { port: http, host: 'localhost' },
    tcp: { port: tcp, host: 'localhost' },
    ...serverAndClient(server, client),
  }
}
