import { rmSync } from 'node:fs'
import { createApi } from '#api/app.ts'
import { nothingOnline, type Live } from '#api/live.ts'
import { newId } from '#base/ids.ts'
import { createLog } from '#base/log.ts'
import { readSettings } from '#base/read-settings.ts'
import { prepareDataFolder } from '#server/data-folder.ts'
import { firstStart, openSealer } from '#server/first-start.ts'
import { openStore } from '#store/open.ts'
import { Caller, newFolder } from '../support/server.ts'

/** The API with one agent online, which takes every command. */
export async function apiWithAgent() {
  const dataDir = newFolder()
  const settings = readSettings(new Map(Object.entries({ data_dir: dataDir })), {})
  prepareDataFolder(dataDir)
  const store = await openStore({ databaseUrl: undefined, dataDir })
  const sealer = await openSealer(store, settings)
  const first = await firstStart(store, settings, Date.now())
  const session = newId('ts')
  const commands: string[] = []
  const live: Live = {
    ...nothingOnline,
    get: async (_kind, id) => (id === session ? { id } : undefined),
    command: async (_id, command) => void commands.push(command),
  }
  const ports = { first: 20_000, last: 29_999 }
  const facts = {
    accountId: 'ac_1',
    accountCreatedAt: '2026-01-01T00:00:00Z',
    domain: 'adit.localhost',
    region: 'us',
    signInUrl: 'https://idp.adit.localhost',
    tcpPorts: ports,
    randomTcpPorts: ports,
  }
  const log = createLog('silent')
  const ready = () => store.ping()
  const metrics = async (): Promise<string> => ''
  const rest = { rateLimit: 0, publicUrl: undefined, ready, metrics, now: Date.now, log }
  const api = createApi({ store, sealer, live, facts, ...rest })
  const caller = new Caller(
    await api.listen({ host: '127.0.0.1', port: 0 }),
    first?.apiKey.reveal() ?? 'there is no first key',
  )
  return {
    commands,
    async post(command: string, headers: Record<string, string>, body?: string) {
      const options = { headers, ...(body !== undefined && { body: body.replace('ID', session) }) }
      const { status, body: got } = await caller.call(
        'POST',
        `/tunnel_sessions/${session}/${command}`,
        options,
      )
      return { status, body: got }
    },
    async [Symbol.asyncDispose]() {
      await api.close()
      await store[Symbol.asyncDispose]()
      rmSync(dataDir, { recursive: true })
    },
  }
}
