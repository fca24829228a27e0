import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { newCertificate } from '../peers/nginx.ts'
import { ask, program } from '../programs.ts'
import type { TlsRelayAnswer, TlsRelayJob } from './tls-relay-program.ts'

/** The ports of relays that encrypt and decrypt like an agent with its node, and with another node in between. */
interface TlsRelays extends Disposable {
  readonly local: number
  readonly forwarded: number
}

/** Starts bare relays in place of the agent and the nodes, each in a process of its own. */
export async function startTlsRelays(folder: string, service: number): Promise<TlsRelays> {
  using started = new DisposableStack()
  const files = await newCertificate(join(folder, 'relays'))
  const identity = { cert: readFileSync(files.certificate, 'utf8'), key: readFileSync(files.key, 'utf8') }
  const start = async (job: TlsRelayJob): Promise<number> => {
    const child = started.adopt(program('cluster/tls-relay-program.ts'), it => void it.kill())
    return (await ask<TlsRelayAnswer>(child, job)).port
  }
  const agent = { tls: true, port: await start({ identity, target: { port: service, tls: false } }) }
  const local = await start({ target: agent })
  const between = { tls: true, port: await start({ identity, target: agent }) }
  const forwarded = await start({ target: between })
  const running = started.move()
  return { local, forwarded, [Symbol.dispose]: () => running.dispose() }
}
