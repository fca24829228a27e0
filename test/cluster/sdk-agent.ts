import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Backoff } from '#agent/backoff.ts'
import type { BindAnswer } from '#tunnel/messages.ts'
import { asDuplex } from '#tunnel/duplex.ts'
import { TestAgent } from '../gateway/agents/support.ts'
import type { Node } from './cluster.ts'

/** Shorter than an agent's, because most tests have few of them. */
const RETRY = { baseMs: 50, capMs: 500 }
const RESPONSE = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nhere'

/** Where agents connect to a node. */
export interface AgentAddress {
  readonly host: string
  readonly port: number
  readonly rootPem: string
}

export function agentAddress({ process, folder }: Node): AgentAddress {
  const { host = '', port = 0 } = process.bound.agent ?? {}
  return { host, port, rootPem: readFileSync(join(folder, 'ca.pem'), 'utf8') }
}

interface Habits {
  readonly backoff?: Backoff
  /** It resumes its TLS session with the server, which it knows by name, as agents of Adit do; not all SDKs do. */
  readonly resumes?: boolean
}

/** An agent as published SDKs have it: one connection, and after its loss another one to the next address. */
export class SdkAgent implements AsyncDisposable {
  readonly #addresses: readonly AgentAddress[]
  readonly #token: string
  readonly #backoff: Backoff
  readonly #resumes: boolean
  #agent: TestAgent | undefined
  #bound: BindAnswer | undefined
  #isClosed = false
  #requests = 0
  #running: Promise<void> = Promise.resolve()

  private constructor(addresses: readonly AgentAddress[], token: string, habits: Habits) {
    this.#addresses = addresses
    this.#token = token
    this.#backoff = habits.backoff ?? new Backoff(RETRY)
    this.#resumes = habits.resumes ?? false
  }

  /** Connects to the first of the nodes. */
  static start(nodes: readonly Node[], token: string, opts: { URL?: string } = {}): Promise<SdkAgent> {
    return SdkAgent.startAt(nodes.map(agentAddress), token, opts)
  }

  /** The same in a process that did not start the nodes. */
  static async startAt(
    addresses: readonly AgentAddress[],
    token: string,
    opts: { URL?: string },
    habits: Habits = {},
  ): Promise<SdkAgent> {
    const agent = new SdkAgent(addresses, token, habits)
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
      await pause(this.#backoff.next())
      connection = await this.#connect(attempt % this.#addresses.length).catch(() => undefined)
      const bound = await connection?.rebind(this.#bound as BindAnswer).catch(() => undefined)
      if (bound?.Error === '') {
        this.#bound = bound
        this.#backoff.reset()
      } else connection?.drop()
    }
  }

  async #connect(index: number): Promise<TestAgent> {
    const agent = await TestAgent.connect(this.#addresses[index] as AgentAddress, {
      userAgent: 'sdk/1',
      ...(this.#resumes && { serverName: 'localhost', resumed: this.#agent?.tlsSession }),
    })
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
