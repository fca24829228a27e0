import { readFileSync } from 'node:fs'
import { Agent, get } from 'node:https'
import { join } from 'node:path'
import { mock } from 'node:test'
import { readSettings } from '#base/read-settings.ts'
import { Compiler } from '#gateway/routing/compiler.ts'
import { serve } from '#server/serve.ts'
import { Caller } from '../../test/support/server.ts'
import { answerJobs } from './answer-jobs.ts'

/** All routes are requested, one is changed, and all are requested again. */
export interface RecompiledJob {
  readonly dataDir: string
  readonly hosts: readonly string[]
  readonly paths: readonly string[]
  readonly change: readonly [path: string, body: Record<string, unknown>]
}

/** How many routes were compiled before the change, and after it. */
export interface RecompiledAnswer {
  readonly before: number
  readonly after: number
}

const AT_ONCE = 16
// Every call is forwarded to the compiler itself.
const compiled = mock.method(Compiler.prototype, 'endpoint').mock

function visit(agent: Agent, port: number, host: string, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  // Without SNI the connections serve all hosts.
  const tls = { servername: '', rejectUnauthorized: false }
  const options = { host: '127.0.0.1', port, path, agent, headers: { host }, ...tls }
  get(options, response => response.resume().once('end', resolve)).once('error', reject)
  return promise
}

async function measure({ dataDir, hosts, paths, change }: RecompiledJob): Promise<RecompiledAnswer> {
  const names = ['api', 'http', 'https', 'agent']
  const addresses = names.map(name => [`${name}_addr`, '127.0.0.1:0'] as const)
  const flags = [...addresses, ['ssh_addr', 'off'], ['data_dir', dataDir], ['log_level', 'silent']] as const
  const running = await serve(readSettings(new Map(flags), {}))
  const { url = '', bound } = running
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const visitAll = async (): Promise<void> => {
    for (const host of hosts)
      await Promise.all(paths.map(path => visit(agent, bound.https?.port ?? 0, host, path)))
  }
  await visitAll()
  const before = compiled.callCount()
  const api = new Caller(url, readFileSync(join(dataDir, 'api-key'), 'utf8').trim())
  const { status, body } = await api.patch(...change)
  if (status !== 200) throw new Error(`the change was refused: ${JSON.stringify(body)}`)
  await visitAll()
  agent.destroy()
  await running.close()
  return { before, after: compiled.callCount() - before }
}

answerJobs(measure)
