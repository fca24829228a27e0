import { once } from 'node:events'
import type { Server } from 'node:http'
import { isIPv6 } from 'node:net'
import { parseHostPort, type HostPort } from '#base/hosts.ts'

const DEFAULT_HOST = '127.0.0.1'
const DEFAULT_PORT = 4040
/** Ports that are tried after the default one. */
const ALTERNATIVES = 100

/** Address of the local API that another program uses. */
export class WebAddressError extends Error {
  override readonly name = 'WebAddressError'
}

export interface Listening {
  /** `host:port`, numeric. */
  readonly address: string
  readonly servers: readonly Server[]
  /** The default port was in use. */
  readonly isAlternative: boolean
}

/** Listens on the given address, or on the default one, with the next free port if that is in use. */
export async function listen(given: string | undefined, makeServer: () => Server): Promise<Listening> {
  const wanted = given === undefined ? undefined : parseHostPort(given)
  if (wanted !== undefined) return { ...(await listenExactly(wanted, makeServer)), isAlternative: false }
  for (let port = DEFAULT_PORT; port <= DEFAULT_PORT + ALTERNATIVES; port++) {
    const servers = await listenOnLoopback(port, makeServer)
    if (servers) return { address: `${DEFAULT_HOST}:${port}`, servers, isAlternative: port !== DEFAULT_PORT }
  }
  throw new WebAddressError(
    `every port from ${DEFAULT_PORT} to ${DEFAULT_PORT + ALTERNATIVES} of ${DEFAULT_HOST} is in use; set web_addr to another one, or to false`,
  )
}

async function listenExactly({ host, port }: HostPort, makeServer: () => Server) {
  const server = makeServer()
  try {
    await listening(server, host.replace(/^\[(.*)\]$/, '$1'), port)
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    const reason = code === 'EADDRINUSE' ? 'bind: address already in use' : code || message
    throw new WebAddressError(
      `the local API cannot listen: listen tcp ${host}:${port}: ${reason}; set web_addr to another address, or to false`,
    )
  }
  const bound = server.address()
  const actual = typeof bound === 'object' && bound ? bound : { address: host, port }
  const shown = isIPv6(actual.address) ? `[${actual.address}]` : actual.address
  return { address: `${shown}:${actual.port}`, servers: [server] }
}

/** `localhost` is either of two addresses; the second need not exist. */
async function listenOnLoopback(port: number, makeServer: () => Server): Promise<Server[] | undefined> {
  const servers: Server[] = []
  for (const host of [DEFAULT_HOST, '::1']) {
    const server = makeServer()
    try {
      await listening(server, host, port)
      servers.push(server)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (host === '::1' && code !== 'EADDRINUSE') continue
      for (const each of servers) each.close()
      if (code === 'EADDRINUSE') return undefined
      throw new WebAddressError(`the local API cannot listen on ${host}:${port}: ${code ?? ''}`)
    }
  }
  return servers
}

async function listening(server: Server, host: string, port: number): Promise<void> {
  server.listen({ host, port })
  await once(server, 'listening')
}
