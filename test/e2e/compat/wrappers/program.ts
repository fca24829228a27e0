import { once } from 'node:events'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

/** What the npm packages that start the hosted agent have in common. */
interface Api {
  listTunnels(): Promise<{ tunnels: { name: string; public_url: string }[] }>
  tunnelDetail(name: string): Promise<object>
  stopTunnel(name: string): Promise<boolean>
  listRequests(options?: object): Promise<{ requests: { id: string }[] }>
  requestDetail(id: string): Promise<object>
  replayRequest(id: string): Promise<boolean>
  deleteAllRequests(): Promise<boolean>
}

interface Wrapper {
  connect(options: object): Promise<string>
  disconnect(url?: string): Promise<unknown>
  kill(): Promise<void>
  authtoken(options: object): Promise<void>
  getApi(): Api
  getUrl(): string
  getVersion?(options: object): Promise<string>
  upgradeConfig?(options: object): Promise<void>
}

/** Runs an unmodified wrapper in a process of its own: each line on standard input is a call, each answer a line. */
const [name = ''] = process.argv.slice(2)
const wrapper = createRequire(import.meta.url)(name) as Wrapper
const folder = process.env['TEST_NGROK_FOLDER'] ?? ''
const statuses: string[] = []
const common = {
  binPath: () => folder,
  configPath: process.env['TEST_NGROK_CONFIG'],
  onStatusChange: (status: string) => void statuses.push(status),
}

const calls: Readonly<Record<string, (argument: never) => Promise<unknown>>> = {
  version: async () => wrapper.getVersion?.(common),
  authtoken: async (authtoken: string) => wrapper.authtoken({ ...common, authtoken }),
  connect: async (options: object) => wrapper.connect({ ...common, ...options }),
  disconnect: async (url: string | undefined) => wrapper.disconnect(url),
  kill: async () => wrapper.kill(),
  url: async () => wrapper.getUrl(),
  upgrade: async () => wrapper.upgradeConfig?.(common),
  statuses: async () => statuses,
  tunnels: async () => (await wrapper.getApi().listTunnels()).tunnels,
  detail: async (tunnel: string) => wrapper.getApi().tunnelDetail(tunnel),
  requests: async () => (await wrapper.getApi().listRequests()).requests,
  request: async (id: string) => wrapper.getApi().requestDetail(id),
  replay: async (id: string) => wrapper.getApi().replayRequest(id),
  clear: async () => wrapper.getApi().deleteAllRequests(),
}

for await (const line of createInterface(process.stdin)) {
  const [call, argument] = JSON.parse(line) as [string, never]
  const answer = await (calls[call]?.(argument) ?? Promise.reject(new Error(`no call ${call}`))).then(
    result => ({ result }),
    (error: Error & { body?: unknown }) => ({ error: error.message, body: error.body }),
  )
  if (!process.stdout.write(`${JSON.stringify(answer)}\n`)) await once(process.stdout, 'drain')
}
await wrapper.kill()
