import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Process } from '../support/server.ts'
import type { Figure } from './h2spec.ts'
import * as tools from './tools.ts'

const DEADLINE_MS = 120_000
const beside = (name: string): string => join(import.meta.dirname, name)

/** Each with the command that drives it; the program, a configuration file, a port and a token follow. */
const wrappers: Readonly<Record<string, () => readonly string[]>> = {
  'pyngrok 7.2.12': () => [tools.python('pyngrok==7.2.12'), beside('drive_pyngrok.py')],
  'pyngrok 9.1.0': () => [tools.python('pyngrok==9.1.0'), beside('drive_pyngrok.py')],
  'java-ngrok 2.5.1': () => ['java', '-cp', `${tools.javaNgrok('2.5.1')}/*`, beside('DriveJavaNgrok.java')],
}

/** Runs unmodified wrappers, which start the agent as a process, read its log and call its local API. */
export async function runWrappers(server: Process, dataDir: string, authtoken: string): Promise<Figure> {
  const service = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1')
  await once(service, 'listening')
  const { port } = service.address() as AddressInfo
  const results: Figure[] = []
  for (const name of Object.keys(wrappers))
    results.push(await runOne(name, server, { dataDir, authtoken, port }))
  service.close()
  return { text: results.map(({ text }) => text).join('\n'), isGood: results.every(({ isGood }) => isGood) }
}

interface Target {
  readonly dataDir: string
  readonly authtoken: string
  readonly port: number
}

async function runOne(name: string, { bound }: Process, target: Target): Promise<Figure> {
  const home = mkdtempSync(join(tmpdir(), 'adit-wrapper-'))
  const program = join(home, 'ngrok')
  symlinkSync(join(import.meta.dirname, '../../bin/adit'), program)
  mkdirSync(join(home, 'config'))
  const args = [program, join(home, 'config/ngrok.yml'), String(target.port), target.authtoken]
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    HTTP_PORT: String(bound.http?.port ?? 0),
    ADIT_SERVER_ADDR: `127.0.0.1:${bound.agent?.port ?? 0}`,
    ADIT_CA_FILE: join(target.dataDir, 'ca.pem'),
  }
  try {
    const [command = '', ...before] = wrappers[name]?.() ?? []
    const { stdout } = await promisify(execFile)(command, [...before, ...args], { env, timeout: DEADLINE_MS })
    return { text: `${name}: ${stdout.trim().split('\n').length} steps, all good`, isGood: true }
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    return { text: `${name}:\n${stdout}${stderr}${stderr === '' ? String(error) : ''}`, isGood: false }
  } finally {
    rmSync(home, { recursive: true })
  }
}
