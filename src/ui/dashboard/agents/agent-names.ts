import { api } from '#ui/dashboard/api.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'

const LIVE_MS = 15_000

/** What people call a connected agent: its metadata, or where it connects from. */
const nameOf = ({ metadata, ip }: { readonly metadata: string; readonly ip: string }): string =>
  metadata === '' ? ip : metadata

/** The names of the agents that are online, by the ids of their tunnels. */
async function loadNames(): Promise<ReadonlyMap<string, string>> {
  const [tunnels, sessions] = await Promise.all([api.tunnels.list(), api.tunnel_sessions.list()])
  const names = new Map(sessions.items.map(session => [session.id, nameOf(session)]))
  return new Map(
    tunnels.items.map(({ id, tunnel_session: session }) => [id, names.get(session?.id ?? '') ?? '']),
  )
}

const none: ReadonlyMap<string, string> = new Map()

export const useAgentNames = (): ReadonlyMap<string, string> =>
  useLoaded('agent names', loadNames, { everyMs: LIVE_MS }).value ?? none
