import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { World } from '../../../test/e2e/edges/world.ts'
import { spawnServer } from '../../../test/support/server.ts'
import type { Address } from '../peers/contender.ts'
import { RunningProgram, splitArguments } from '../processes.ts'

const program = join(import.meta.dirname, '../../../bin/adit')
const LABEL = 'service=bench'

export const DOMAIN = 'gate.test'

/** `adit serve` and an agent with a labelled tunnel, each in a separate process, and its backend. */
export class Site implements AsyncDisposable {
  readonly world: World
  readonly pid: number
  /** Balances over the tunnels with our label: there is one. */
  readonly group: string
  readonly #agent: RunningProgram

  private constructor(world: World, pid: number, group: string, agent: RunningProgram) {
    this.world = world
    this.pid = pid
    this.group = group
    this.#agent = agent
  }

  static async start(dataDir: string, service: number): Promise<Site> {
    const server = await spawnServer(dataDir, {
      ADIT_SSH_ADDR: 'off',
      ADIT_DOMAIN: DOMAIN,
      ADIT_LOG_LEVEL: 'error',
      ADIT_EGRESS_ALLOW: '127.0.0.0/8',
    })
    const authtoken = readFileSync(join(dataDir, 'authtoken'), 'utf8').trim()
    const stop = async (): Promise<void> => void (await server.end('SIGTERM'))
    const { api, bound } = server
    const world = new World({ api, bound, dataDir, authtoken, [Symbol.asyncDispose]: stop })
    const agent = new RunningProgram(program, splitArguments(`tunnel ${service} --label ${LABEL}`), {
      ADIT_SERVER_ADDR: `127.0.0.1:${bound.agent?.port}`,
      ADIT_AUTHTOKEN: authtoken,
      ADIT_CA_FILE: join(dataDir, 'ca.pem'),
    })
    const { id } = await world.make('/backends/tunnel_group', { labels: { service: 'bench' } })
    return new Site(world, server.child.pid ?? -1, id, agent)
  }

  addressOf(host: string): Address {
    return { port: this.world.server.bound.https?.port ?? 0, host }
  }

  /** Resolves when the service responds to a request. */
  answers(url: string): Promise<void> {
    return this.#agent.until(`an answer at ${url}`, async () => (await this.world.ask(url)).status === 200)
  }

  /** Creates many resources, several at a time. */
  async makeAll(bodies: Iterable<readonly [path: string, body: Record<string, unknown>]>): Promise<string[]> {
    const ids: string[] = []
    const left = [...bodies].entries()
    const work = async (): Promise<void> => {
      for (const [at, [path, body]] of left) ids[at] = (await this.world.make(path, body)).id
    }
    await Promise.all(Array.from({ length: 32 }, work))
    return ids
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent[Symbol.asyncDispose]()
    await this.world[Symbol.asyncDispose]()
  }
}
