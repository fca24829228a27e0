import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Caller, spawnServer } from '../../../test/support/server.ts'
import { freePort } from '../../../test/support/free-ports.ts'
import { RunningProgram, splitArguments } from '../processes.ts'
import type { Contender, Address, Upstream } from './contender.ts'

const NAME = 'bench'
const GRPC_NAME = 'calls'
export const DOMAIN = 'adit.localhost'
const program = join(import.meta.dirname, '../../../bin/adit')

/** Adit, and what the memory measurements need besides its ports. */
export interface AditTunnel extends Contender {
  readonly http: Address
  readonly serverPid: number
  readonly agentPort: number
  readonly authtoken: string
  readonly api: Caller
}

interface AditOptions {
  /** Of the agent for HTTP. */
  readonly flags?: readonly string[]
  /** Of the server. */
  readonly environment?: Readonly<Record<string, string>>
}

/** `adit serve`, agents for HTTP, TCP and, where it is measured, gRPC, over the TLS link that is the default. */
export async function aditTunnel(
  folder: string,
  upstream: Omit<Upstream, 'grpc'> & Partial<Upstream>,
  { flags = [], environment: settings = {} }: AditOptions = {},
): Promise<AditTunnel> {
  const [http, https, agentPort, tcp] = await Promise.all(Array.from({ length: 4 }, freePort))
  if (!http || !https || !agentPort || !tcp) throw new Error('no port is free')
  const dataDir = join(folder, 'adit')
  const server = await spawnServer(dataDir, {
    ADIT_HTTP_ADDR: `127.0.0.1:${http}`,
    ADIT_HTTPS_ADDR: `127.0.0.1:${https}`,
    ADIT_AGENT_ADDR: `127.0.0.1:${agentPort}`,
    ADIT_SSH_ADDR: 'off',
    ADIT_DOMAIN: DOMAIN,
    ADIT_LOG_LEVEL: 'error',
    ...settings,
  })
  const serverPid = server.child.pid ?? -1
  const authtoken = readFileSync(join(dataDir, 'authtoken'), 'utf8').trim()
  const environment = {
    ADIT_SERVER_ADDR: `127.0.0.1:${agentPort}`,
    ADIT_AUTHTOKEN: authtoken,
    ADIT_CA_FILE: join(dataDir, 'ca.pem'),
  }
  const agents: RunningProgram[] = []
  const stop = async () => {
    for (const each of agents) await each[Symbol.asyncDispose]()
    await server.end('SIGTERM')
  }
  try {
    // The agent prints the URL once its endpoint is online.
    const lines = [
      [...splitArguments(`http ${upstream.http} --name ${NAME}`), ...flags],
      splitArguments(`tcp ${upstream.tcp} --port ${tcp}`),
      ...(upstream.grpc === undefined
        ? []
        : [splitArguments(`http ${upstream.grpc} --name ${GRPC_NAME} --upstream-protocol http2`)]),
    ]
    for (const line of lines) {
      const agent = new RunningProgram(program, line, environment)
      agents.push(agent)
      await agent.until('its address', () => /(?:https?|tcp):\/\/\S+/.test(agent.output))
    }
  } catch (error) {
    await stop()
    throw error
  }
  const host = `${NAME}.${DOMAIN}`
  return {
    name: 'adit',
    http: { port: http, host },
    https: { port: https, host },
    http2: { port: https, host },
    tcp: { port: tcp, host },
    grpc: { port: https, host: `${GRPC_NAME}.${DOMAIN}`, ca: environment.ADIT_CA_FILE },
    pids: [serverPid, ...agents.map(agent => agent.pid)],
    serverPid,
    agentPort,
    authtoken,
    api: server.api,
    [Symbol.asyncDispose]: stop,
  }
}
