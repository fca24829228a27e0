import { api } from '#ui/dashboard/api.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'

/** Each heartbeat measures the round trip again. */
const HEARTBEAT_MS = 5000

/** The link of a connected agent, as it is now. */
export const useAgentLink = (id: string) =>
  useLoaded(`link of ${id}`, () => api.tunnel_sessions.link(id), { everyMs: HEARTBEAT_MS })
