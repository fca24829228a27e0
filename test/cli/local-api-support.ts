import { spawnAgent, type WatchedProcess } from './agent-support.ts'
import type { TestServer } from '../support/server.ts'

interface ApiResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // oxlint-disable-next-line typescript/no-explicit-any -- a test may look at any field of any answer
  readonly body: any
}

/** An agent with a local API on a free port. */
export class LocalAgent implements AsyncDisposable {
  readonly agent: WatchedProcess
  readonly url: string

  private constructor(agent: WatchedProcess, url: string) {
    this.agent = agent
    this.url = url
  }

  /** Waits until its tunnels are open: the API waits a few seconds for that, which a busy machine can exceed. */
  static async start(
    server: TestServer,
    args?: readonly string[],
    environment?: Record<string, string>,
  ): Promise<LocalAgent> {
    const local = await LocalAgent.startOffline(server, args, environment)
    await local.agent.waitForOutput(/ msg=online /)
    return local
  }

  /** Waits for the local API only. */
  static async startOffline(
    server: TestServer,
    args: readonly string[] = ['start', '--none'],
    environment: Record<string, string> = {},
  ): Promise<LocalAgent> {
    const options = ['--web-addr', '127.0.0.1:0', '--log-level', 'debug']
    const agent = spawnAgent(server, [...args, ...options], environment)
    const [, url = ''] = await agent.waitForOutput(/ msg=inspector url=(\S+)\n/)
    return new LocalAgent(agent, url)
  }

  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<ApiResponse> {
    const response = await fetch(this.url + path, {
      method,
      redirect: 'manual',
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type') === 'application/json'
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? JSON.parse(text) : undefined,
    }
  }

  get(path: string): Promise<ApiResponse> {
    return this.call('GET', path)
  }

  post(path: string, body: unknown): Promise<ApiResponse> {
    return this.call('POST', path, body)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.agent[Symbol.asyncDispose]()
  }
}
