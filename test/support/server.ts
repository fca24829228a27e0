import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createLog } from '#base/log.ts'
import { readWithSources } from '#base/read-settings.ts'
import { serve, type Running } from '#server/serve.ts'
import { assertNoSecretInResponse } from './response-secrets.ts'
import { recordApiOutput, recordDataFolder, recordOutput, recordedOutputOf } from './leaks.ts'
import { program } from './program.ts'
import { RecordedOutput } from './secrets.ts'
import { newFolder } from './folder.ts'
import { chosenEnvironment } from './server-environment.ts'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- a test may look at any field of any answer
  readonly body: any
}

export interface CallOptions {
  readonly body?: unknown
  /** The token to call with; by default the first admin's, none when null. */
  readonly token?: string | null
  readonly headers?: Record<string, string>
}

/** Calls an API the way any client would: over its socket. */
export class Caller {
  readonly url: string
  readonly token: string

  constructor(url: string, token: string) {
    this.url = url
    this.token = token
  }

  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const { body, token = this.token, headers = {} } = options
    const response = await fetch(path.startsWith('http') ? path : this.url + path, {
      method,
      headers: {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isCreation = method === 'POST' && response.status === 201
    if (response.headers.get('content-type')?.includes('json'))
      assertNoSecretInResponse(`${method} ${path}`, text, isCreation)
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : JSON.parse(text),
    }
  }

  get = (path: string, options?: CallOptions) => this.call('GET', path, options)
  post = (path: string, body: unknown = {}, options?: CallOptions) =>
    this.call('POST', path, { body, ...options })
  patch = (path: string, body: unknown = {}, options?: CallOptions) =>
    this.call('PATCH', path, { body, ...options })
  put = (path: string, body: unknown = {}, options?: CallOptions) =>
    this.call('PUT', path, { body, ...options })
  delete = (path: string, options?: CallOptions) => this.call('DELETE', path, options)
}

export interface TestServer extends AsyncDisposable {
  readonly api: Caller
  readonly dataDir: string
  /** Where the gateway listens. */
  readonly bound: Running['bound']
  /** Where the DNS server listens; off by default. */
  readonly dns?: Running['dns']
  /** The first agent credential. */
  readonly authtoken: string
}

/** The listeners of the gateway, each on a free port. */
const freeListeners = {
  http_addr: '127.0.0.1:0',
  https_addr: '127.0.0.1:0',
  agent_addr: '127.0.0.1:0',
  ssh_addr: '127.0.0.1:0',
}

/** The whole program in this process, on a free port and an empty data folder; no rate limit by default. */
export async function startServer(settings: Record<string, string> = {}): Promise<TestServer> {
  const dataDir = newFolder()
  const place = await chosenEnvironment(settings)
  const flags = {
    data_dir: dataDir,
    api_addr: '127.0.0.1:0',
    ...freeListeners,
    rate_limit: '0',
    // Of workers, who write to the standard error of the test.
    log_level: 'silent',
    // No test may call a real CA; tests with their own CA set it.
    acme_directory: 'off',
    ...place.settings,
    ...settings,
  }
  const output = new RecordedOutput('the log of a server')
  const { settings: settled, sources } = readWithSources(new Map(Object.entries(flags)), {})
  const running = await serve(settled, createLog('debug', output), { sources })
  if (running.url === undefined || !running.first) throw new Error('the server did not start afresh')
  const api = new Caller(running.url, running.first.apiKey.reveal())
  return {
    api,
    dataDir,
    bound: running.bound,
    dns: running.dns,
    authtoken: running.first.authtoken.reveal(),
    async [Symbol.asyncDispose]() {
      await recordApiOutput(api, output)
      await running.close()
      await place.release()
      recordDataFolder(dataDir, output)
      rmSync(dataDir, { recursive: true })
      output.end()
    },
  }
}

/** The environment of `adit`. Variables named ADIT_* of the test's own environment do not reach it. */
export function aditEnvironment(environment: Record<string, string>): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('ADIT_'))
  return { ...Object.fromEntries(inherited), ADIT_ACME_DIRECTORY: 'off', ...environment }
}

/** Starts `adit` in a separate process. */
export function spawnAdit(
  args: readonly string[],
  environment: Record<string, string> = {},
  path = program,
): ChildProcess {
  const child = spawn(path, args, {
    env: aditEnvironment(environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return recordOutput(child, args)
}

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs `adit` to its end. */
export async function runAdit(
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<Finished> {
  const child = spawnAdit(args, environment)
  const output = { stdout: '', stderr: '' }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  await once(child, 'close')
  recordedOutputOf(child).end()
  return { code: child.exitCode, ...output }
}

export interface Process {
  readonly child: ChildProcess
  readonly api: Caller
  /** Where the gateway listens. */
  readonly bound: Running['bound']
  /** All that it has written, to standard output and to its log. */
  output(): string
  /** Sends a signal and waits for the end. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
}

/** The listeners, as the welcome names them. */
function boundIn(welcome: string): Running['bound'] {
  const at = (label: string) => {
    const [, host, port] = new RegExp(`^ +.*\\b${label} +([^\\s,]+):(\\d+)`, 'm').exec(welcome) ?? []
    return host === undefined ? {} : { host, port: Number(port) }
  }
  const found = { http: at('http'), https: at('https'), agent: at('Agents'), ssh: at('SSH') }
  return Object.fromEntries(Object.entries(found).filter(([, address]) => 'host' in address))
}

/** Starts `adit serve` in a separate process; resolves when it has printed that it is running. */
export async function spawnServer(
  dataDir: string,
  environment: Record<string, string> = {},
  path = program,
): Promise<Process> {
  const settings = {
    ADIT_DATA_DIR: dataDir,
    ADIT_API_ADDR: '127.0.0.1:0',
    ADIT_HTTP_ADDR: '127.0.0.1:0',
    ADIT_HTTPS_ADDR: '127.0.0.1:0',
    ADIT_AGENT_ADDR: '127.0.0.1:0',
    ADIT_SSH_ADDR: '127.0.0.1:0',
    ADIT_RATE_LIMIT: '0',
    // More log lines mean that more is searched for secrets.
    ADIT_LOG_LEVEL: 'debug',
    ...environment,
  }
  const child = spawnAdit(['serve'], settings, path)
  let complaint = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (complaint += text))
  const lines: string[] = []
  await new Promise<void>((resolve, reject) => {
    child.once('close', () => reject(new Error(`adit serve ended: ${complaint}`)))
    if (!child.stdout) return
    createInterface(child.stdout).on('line', line => {
      lines.push(line)
      // The last of the addresses.
      if (/^ +SSH /.test(line)) resolve()
    })
  })
  const welcome = lines.join('\n')
  const url = /^ +API +(http\S+)/m.exec(welcome)?.[1] ?? ''
  const api = new Caller(url, readFileSync(join(dataDir, 'api-key'), 'utf8').trim())
  const output = recordedOutputOf(child)
  return {
    child,
    bound: boundIn(welcome),
    output: () => `${lines.join('\n')}\n${complaint}`,
    api,
    async end(signal) {
      const closed = once(child, 'close')
      if (signal === 'SIGTERM') await recordApiOutput(api, output)
      child.kill(signal)
      await closed
      recordDataFolder(dataDir, output)
      output.end()
      return child.exitCode
    },
  }
}
