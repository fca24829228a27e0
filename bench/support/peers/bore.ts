import { join } from 'node:path'
import { RunningProgram, splitArguments } from '../processes.ts'
import { cargoPrograms } from './builds.ts'
import type { Contender, Upstream } from './contender.ts'
import { freePort } from '../../../test/support/free-ports.ts'

const HOST = '127.0.0.1'
/** It cannot be changed. */
const LINK_PORT = 7835

/** bore: one connection per stream, without encryption. */
export async function bore(_folder: string, upstream: Upstream): Promise<Contender> {
  const program = join(await cargoPrograms('bore-cli', '0.6.0', '--locked'), 'bore')
  const server = new RunningProgram(program, splitArguments(`server --bind-addr ${HOST}`))
  const clients: RunningProgram[] = []
  const stop = async () => {
    for (const each of [...clients, server]) await each[Symbol.asyncDispose]()
  }
  const expose = async (target: number): Promise<number> => {
    const port = await freePort()
    const client = new RunningProgram(
      program,
      splitArguments(`local ${target} --local-host ${HOST} --to ${HOST} --port ${port}`),
    )
    clients.push(client)
    await client.listens(port)
    return port
  }
  try {
    await server.listens(LINK_PORT)
    return {
      name: 'bore',
      http: { port: await expose(upstream.http), host: 'localhost' },
      tcp: { port: await expose(upstream.tcp), host: 'localhost' },
      pids: [server.pid, ...clients.map(({ pid }) => pid)],
      [Symbol.asyncDispose]: stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}
