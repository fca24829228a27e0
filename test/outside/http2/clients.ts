import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { freePort } from '../../support/free-ports.ts'
import { recordOutput } from '../../support/leaks.ts'
import { spawnAdit, type Process } from '../../support/server.ts'
import { WatchedProcess } from '../../cli/agent-support.ts'
import type { Figure } from '../h2spec.ts'
import { runNamed } from '../named.ts'
import * as tools from '../tools.ts'
import { clientsService } from './service.ts'

const WEB = 'clients.adit.localhost'
const GRPC = 'calls.adit.localhost'
const beside = (name: string): string => join(import.meta.dirname, name)

/** The commands of the clients; the address and the file of the CA follow. */
const clients: Readonly<Record<string, () => readonly string[]>> = {
  'net/http of Go': () => [tools.goProgram(beside('drive.go'))],
  'java.net.http': () => ['java', beside('DriveHttpClient.java')],
  'httpx of Python': () => [tools.python('httpx[http2]==0.28.1'), beside('drive_httpx.py')],
}

/** The cases of gRPC's interoperability tests that need no cloud. */
const calls = [
  'empty_unary',
  'large_unary',
  'client_streaming',
  'server_streaming',
  'ping_pong',
  'empty_stream',
  'timeout_on_sleeping_server',
  'cancel_after_begin',
  'cancel_after_first_response',
  'custom_metadata',
  'status_code_and_message',
  'special_status_message',
  'unimplemented_method',
  'unimplemented_service',
]

/** Runs HTTP/2 clients of other languages, and gRPC's own client and server, through tunnels. */
export async function runHttp2Clients(server: Process, dataDir: string): Promise<Figure> {
  const results = [...(await runWeb(server, dataDir)), ...(await runCalls(server, dataDir))]
  return { text: results.map(({ text }) => text).join('\n'), isGood: results.every(({ isGood }) => isGood) }
}

function tunnelTo(port: number, name: string, more: readonly string[], { bound }: Process, dataDir: string) {
  const [label = ''] = name.split('.')
  const command = [
    'http',
    String(port),
    '--name',
    label,
    '--log',
    'stdout',
    '--log-format',
    'logfmt',
    ...more,
  ]
  const { host = '', port: agentPort = 0 } = bound.agent ?? {}
  return new WatchedProcess(
    spawnAdit(command, { ADIT_DATA_DIR: dataDir, ADIT_SERVER_ADDR: `${host}:${agentPort}` }),
  )
}

async function runWeb(server: Process, dataDir: string): Promise<Figure[]> {
  const service = clientsService().listen(0, '127.0.0.1')
  await once(service, 'listening')
  const { port } = service.address() as AddressInfo
  await using tunnel = tunnelTo(port, WEB, [], server, dataDir)
  await tunnel.waitForOutput(/url=https:/)
  const results: Figure[] = []
  for (const [name, command] of Object.entries(clients)) {
    const address = `https://${WEB}:${server.bound.https?.port}`
    const { code, output } = await runNamed(dataDir, WEB, [...command(), address, join(dataDir, 'ca.pem')])
    const steps = output.trim().split('\n').length
    results.push(
      code === 0
        ? { text: `HTTP/2 by ${name}: ${steps} steps, all good`, isGood: true }
        : { text: `HTTP/2 by ${name} failed:\n${output}`, isGood: false },
    )
  }
  service.closeAllConnections()
  service.close()
  return results
}

async function runCalls(server: Process, dataDir: string): Promise<Figure[]> {
  const { client, server: program } = tools.grpcInterop()
  const port = await freePort()
  const command = [`--port=${port}`]
  await using parts = new AsyncDisposableStack()
  parts.use(new WatchedProcess(recordOutput(spawn(program, command), command)))
  const tunnel = parts.use(tunnelTo(port, GRPC, ['--upstream-protocol', 'http2'], server, dataDir))
  await tunnel.waitForOutput(/url=https:/)
  const failures: string[] = []
  for (const call of calls) {
    const { code, output } = await runNamed(dataDir, GRPC, [
      client,
      '--use_tls',
      '--use_test_ca',
      `--ca_file=${join(dataDir, 'ca.pem')}`,
      `--server_host=${GRPC}`,
      `--server_port=${server.bound.https?.port}`,
      `--test_case=${call}`,
    ])
    if (code !== 0) failures.push(`${call}:\n${output}`)
  }
  const text = `gRPC of Go: ${calls.length - failures.length} of ${calls.length} cases passed`
  return [{ text: [text, ...failures].join('\n'), isGood: failures.length === 0 }]
}
