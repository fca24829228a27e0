import type { TunnelRecord } from '#gateway/directory.ts'
import type { Exchange, Reply } from '#gateway/exchange.ts'
import { DialError, type Fleet } from '#gateway/fleet.ts'
import { errorReply } from '#gateway/pages.ts'
import { closable, type ClosableEndpoint, type MakeBackend } from '#gateway/plan/compiled.ts'
import type { TunnelGroup } from '#gateway/plan/tunnel-group.ts'

const MAX_TRIES = 3
const HTTPS_EDGE = '3'

/** Shares requests among the tunnels of a group. Each has connections of its own, which no other route uses. */
export function groupBackend(group: TunnelGroup, fleet: Fleet, make: MakeBackend): ClosableEndpoint {
  const members = new Map<string, { readonly tunnel: TunnelRecord; readonly endpoint: ClosableEndpoint }>()

  const watched: Fleet = {
    command: (id, command) => fleet.command(id, command),
    probe: id => fleet.probe(id),
    async dial(tunnel, header, first) {
      try {
        const stream = await fleet.dial(tunnel, { ...header, Proto: '', EdgeType: HTTPS_EDGE }, first)
        group.worked(tunnel)
        return stream
      } catch (error) {
        if (error instanceof DialError) group.failed(tunnel)
        throw error
      }
    },
  }

  const memberOf = (tunnel: TunnelRecord): ClosableEndpoint => {
    const known = members.get(tunnel.id)
    if (known?.tunnel === tunnel) return known.endpoint
    known?.endpoint.close()
    const endpoint = make(tunnel, watched)
    members.set(tunnel.id, { tunnel, endpoint })
    return endpoint
  }

  const answer = async (exchange: Exchange): Promise<Reply> => {
    const candidates = group.candidates()
    if (members.size > candidates.length) dropGone(new Set(candidates.map(({ id }) => id)))
    for (const [tries, tunnel] of candidates.entries()) {
      const failures = group.failures
      const reply = await memberOf(tunnel)(exchange)
      const isLast = tries === MAX_TRIES - 1 || tries === candidates.length - 1
      // Only what surely went nowhere, and can be sent again, is tried at the next one.
      const isLost = group.failures !== failures && group.isDown(tunnel) && isOurs(reply)
      if (!isLost || isLast || exchange.body.framing.kind !== 'none') return reply
      reply.body.cancel()
    }
    return errorReply('backend_empty', exchange.head)
  }

  const dropGone = (online: ReadonlySet<string>): void => {
    for (const [id, { endpoint }] of members) {
      if (online.has(id)) continue
      endpoint.close()
      members.delete(id)
    }
  }

  return closable(answer, () => dropGone(new Set()))
}

/** A reply that says, in our own words, that the agent was not reached. */
const isOurs = ({ head }: Reply): boolean =>
  (head.status === 502 || head.status === 503) && head.fields.get('adit-error-code') !== undefined
