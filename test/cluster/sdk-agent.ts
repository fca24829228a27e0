import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { BindAnswer } from '#tunnel/messages.ts'
import { asDuplex } from '#tunnel/duplex.ts'
import { TestAgent } from '../gateway/agents/support.ts'
import type { Node } from './cluster.ts'

const RETRY_MS = 50
const RESPONSE = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nhere'

/** An agent as published SDKs have it: one connection, and after its loss another one to the next address. */
export class SdkAgent implements AsyncDisposable {
  readonly #nodes: readonly Node[]
  readonly #token: string
  #agent: TestAgent | undefined
  #bound: BindAnswer | undefined
  #isClosed = false
  #requests = 0
  #running: Promise<void> = Promise.resolve()

  private constructor(nodes: readonly Node[], token: string) {
    this.#nodes = nodes
    this.#token = token
  }

  /** Connects to the first of the nodes. */
  static async start(nodes: readonly Node[], token: string, opts: { URL?: string } = {}): Promise<SdkAgent> {
    const agent = new SdkAgent(nodes, token)
    const connection = await agent.#connect(0)
    const bound = await connection.bind('http', opts)
    if (bound.Error !== '') {
      connection.drop()
      throw new Error(bound.Error)
    }
    agent.#bound = bound
    agent.#running = agent.#stay(connection)
    return agent
  }

  get url(): string {
    return this.#bound?.URL ?? ''
  }

  get sessionId(): string {
    return this.#agent?.clientId ?? ''
  }

  /** Those that it has got. */
  get requests(): number {
    return this.#requests
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    this.#agent?.drop()
    await this.#running
  }

  async #stay(first: TestAgent): Promise<void> {
    let connection: TestAgent | undefined = first
    for (let attempt = 1; !this.#isClosed; attempt++) {
      await connection?.session.closed
      if (this.#isClosed) return
      await pause(RETRY_MS)
      connection = await this.#connect(attempt % this.#nodes.length).catch(() => undefined)
      const bound = await connection?.rebind(this.#bound as BindAnswer).catch(() => undefined)
      if (bound?.Error === '') this.#bound = bound
      else connection?.drop()
    }
  }

  async #connect(index: number): Promise<TestAgent> {
    const node = this.#nodes[index] as Node
    const { host = '', port = 0 } = node.process.bound.agent ?? {}
    const rootPem = readFileSync(join(node.folder, 'ca.pem'), 'utf8')
    const agent = await TestAgent.connect({ host, port, rootPem }, { userAgent: 'sdk/1' })
    agent.onProxied = stream => {
      const duplex = asDuplex(stream)
      duplex.on('error', () => undefined)
      duplex.once('data', () => {
        this.#requests++
        duplex.resume().end(RESPONSE)
      })
    }
    const { clientId, cookie } = this.#agent ?? agent
    Object.assign(agent, { clientId, cookie })
    const answer = await agent.auth(this.#token)
    if (answer.Error !== '') {
      agent.drop()
      throw new Error(answer.Error)
    }
    this.#agent = agent
    return agent
  }
}
