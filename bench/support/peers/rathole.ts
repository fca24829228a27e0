import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { outputOf, RunningProgram } from '../processes.ts'
import { cargoPrograms } from './builds.ts'
import { serverAndClient, type Contender, type Upstream } from './contender.ts'
import { freePort } from '../../../test/support/free-ports.ts'

const HOST = '127.0.0.1'
// OpenSSL is left out: its headers may be missing, and Noise encrypts as well.
const FEATURES = '--no-default-features --features server,client,noise'

const keyAfter = (label: string, output: string): string =>
  new RegExp(`${label}:\\s+(\\S+)`).exec(output)?.[1] ?? ''

/** rathole: one connection per stream, encrypted by Noise. */
export async function rathole(folder: string, upstream: Upstream): Promise<Contender> {
  const program = join(await cargoPrograms('rathole', '0.5.0', FEATURES), 'rathole')
  const own = join(folder, 'rathole')
  mkdirSync(own, { recursive: true })
  const [link, http, tcp] = [await freePort(), await freePort(), await freePort()]
  const keys = await outputOf(program, ['--genkey'])
  const part = (side: string, address: string, key: string) =>
    `[${side}]\n${address} = "${HOST}:${link}"\ndefault_token = "bench"\n` +
    `[${side}.transport]\ntype = "noise"\n[${side}.transport.noise]\n${key}\n`
  const service = (side: string, name: string, address: string, port: number) =>
    `[${side}.services.${name}]\n${address} = "${HOST}:${port}"\n`
  const files = {
    server:
      part('server', 'bind_addr', `local_private_key = "${keyAfter('Private Key', keys)}"`) +
      service('server', 'http', 'bind_addr', http) +
      service('server', 'tcp', 'bind_addr', tcp),
    client:
      part('client', 'remote_addr', `remote_public_key = "${keyAfter('Public Key', keys)}"`) +
      service('client', 'http', 'local_addr', upstream.http) +
      service('client', 'tcp', 'local_addr', upstream.tcp),
  }
  const start = async (side: keyof typeof files, ...ports: readonly number[]) => {
    const file = join(own, `${side}.toml`)
    writeFileSync(file, files[side])
    const running = new RunningProgram(program, [`--${side}`, file])
    for (const port of ports) await running.listens(port)
    return running
  }
  const server = await start('server', link)
  const client = await start('client', http, tcp)
  return {
    name: 'rathole',
    http: { port: http, host: 'localhost' },
    tcp: { port: tcp, host: 'localhost' },
    ...serverAndClient(server, client),
  }
}
