import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { assertNoSecretInPage } from '../support/secrets.ts'
import { program } from '../support/program.ts'
import { recordOutput, recordedOutputOf } from '../support/leaks.ts'
import { spawnAdit, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { newFolder } from '../support/folder.ts'

/** How long something may take that should take a moment, on a busy machine. */
const PATIENCE_MS = 60_000

/** A process whose output is waited for. */
export class WatchedProcess implements AsyncDisposable {
  readonly child: ChildProcess
  readonly #ended: Promise<unknown>
  #output = ''
  #errorOutput = ''
  #more = Promise.withResolvers<void>()
  /** All of its output was read. */
  #isOver = false

  constructor(child: ChildProcess) {
    this.child = child
    this.#ended = this.#whenEnded()
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text
      this.#wake()
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#errorOutput += text))
  }

  get output(): string {
    return this.#output
  }

  get errorOutput(): string {
    return this.#errorOutput
  }

  async #whenEnded(): Promise<void> {
    await once(this.child, 'close')
    this.#isOver = true
    this.#wake()
    recordedOutputOf(this.child).end()
  }

  #wake(): void {
    this.#more.resolve()
    this.#more = Promise.withResolvers()
  }

  /** Waits until the output, or what `read` makes of it, has something. */
  async waitForOutput(pattern: RegExp, read = (output: string) => output): Promise<RegExpExecArray> {
    const what = () => `${pattern} comes, after:
${this.#output}
${this.#errorOutput}`
    const look = () => {
      const found = pattern.exec(read(this.#output)) ?? undefined
      if (found === undefined && this.#isOver) throw new Error(`it ended before ${what()}`)
      return found
    }
    return until(look, { what, withinMs: PATIENCE_MS, next: () => this.#more.promise })
  }

  async ends(signal?: NodeJS.Signals): Promise<number | null> {
    if (signal) this.child.kill(signal)
    await this.#ended
    return this.child.exitCode
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL')
    await this.#ended
  }
}

/** What an agent needs to know in order to find a server of a test; it has no file of its own. */
export const environmentOf = ({ bound, dataDir }: TestServer): Record<string, string> => ({
  ADIT_SERVER_ADDR: `127.0.0.1:${bound.agent?.port ?? 0}`,
  ADIT_DATA_DIR: dataDir,
  XDG_CONFIG_HOME: join(dataDir, 'no-such-folder'),
})

export const spawnAgent = (
  server: TestServer,
  args: readonly string[],
  environment: Record<string, string> = {},
): WatchedProcess => new WatchedProcess(spawnAdit(args, { ...environmentOf(server), ...environment }))

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** The same on a terminal of that size, which first prints its name; what is written to `stdin` is typed. */
export function agentOnTerminal(
  server: TestServer,
  args: readonly string[],
  { columns = 100, environment = {} }: { columns?: number; environment?: Record<string, string> } = {},
): WatchedProcess {
  const command = `tty; stty cols ${columns} rows 30; exec ${[program, ...args].map(quoted).join(' ')}`
  const hidden = new Set(['CI', 'FORCE_COLOR', 'NODE_DISABLE_COLORS', 'NO_COLOR'])
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('ADIT_') && !hidden.has(name),
  )
  const child = spawn('/usr/bin/script', ['-qec', command, '/dev/null'], {
    env: {
      ...Object.fromEntries(inherited),
      TERM: 'xterm-256color',
      ...environmentOf(server),
      ...environment,
    },
  })
  return new WatchedProcess(recordOutput(child, args))
}

/** A web service, with what to do for each request. */
export async function webService(answer: RequestListener) {
  const service = createServer((incoming, response) => {
    // Connections are not kept, so that their end is seen at once.
    response.setHeader('connection', 'close')
    answer(incoming, response)
  }).listen(0, '127.0.0.1')
  await once(service, 'listening')
  return {
    port: String((service.address() as AddressInfo).port),
    [Symbol.asyncDispose]: async () => {
      service.closeAllConnections()
      service.close()
    },
  }
}

interface Visit {
  readonly status: number
  readonly body: string
}

/** Visits an http address of the gateway, whose names no DNS knows. */
export async function visit(address: string, headers: Record<string, string> = {}): Promise<Visit> {
  const { host, port, pathname } = new URL(address)
  const sent = request({
    host: '127.0.0.1',
    port,
    path: pathname,
    headers: { host, ...headers },
    agent: false,
  })
  sent.end()
  const [answer] = await once(sent, 'response')
  let body = ''
  for await (const chunk of answer.setEncoding('utf8')) body += chunk
  assertNoSecretInPage(answer.headers, body)
  return { status: answer.statusCode, body }
}

/** A file of the agent, and the variable that makes it be found. */
export function configFile(text: string) {
  const folder = newFolder()
  const path = join(folder, 'adit', 'adit.yml')
  mkdirSync(join(folder, 'adit'))
  writeFileSync(path, text, { mode: 0o600 })
  return {
    path,
    environment: { XDG_CONFIG_HOME: folder },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  }
}
