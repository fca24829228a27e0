import { fail } from '#base/errors.ts'
import type { Channel } from '#cluster/channel.ts'
import type { LocalAgents } from '#cluster/nodes/cluster-peers.ts'
import { anyConnection } from '#registry/agent-connections.ts'
import { DialError } from '#registry/agent-dialer.ts'
import type { Directory } from '#registry/directory.ts'

/** The agents of the workers, for the first process. It opens no connections through them: each worker does. */
export function agentsOfWorkers(
  directory: Pick<Directory, 'sessions'>,
  channelOf: (worker: string) => Channel | undefined,
): LocalAgents {
  const ask = async <Result>(sessionId: string, method: string, argument: unknown): Promise<Result> => {
    const channel = channelOf(directory.sessions.get(sessionId)?.node ?? '')
    return channel ? channel.request(method, argument) : fail('not_found')
  }
  return {
    dial: async ({ id }) => {
      throw new DialError('offline', `The tunnel ${id} is not connected to the first process.`)
    },
    probe: id => ask<boolean>(id, 'probe', id),
    roundTrip: id => ask<number | null>(id, 'roundTrip', id),
    command: async (sessionId, command) => {
      const session = anyConnection(directory.sessions, sessionId) ?? fail('not_found')
      return ask(session.id, 'command', { sessionId: session.id, command })
    },
    revoke: tunnel => channelOf(tunnel.node)?.notify('revoke', tunnel),
  }
}
