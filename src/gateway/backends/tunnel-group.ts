import type { BuildBackend } from '#gateway/backends/backend.ts'
import { GroupTurns } from '#gateway/backends/group-turns.ts'
import { answerInTurns, dialInTurns, Members } from '#gateway/backends/in-turns.ts'
import { clientAddress } from '#base/client-network.ts'
import { groupOf } from '#registry/records/tunnel-group.ts'

const edgeTypes = { tcp: '1', tls: '2', https: '3' } as const

/** Balances traffic over the owner's online tunnels with all labels of the group. */
export const tunnelGroupBackend: BuildBackend = (row, parts) => {
  const group = groupOf(row)
  const { index, dialer, edge, passthrough = edge === 'tls' } = parts
  const turns = new GroupTurns(index, () => index.ofGroup(group))
  const members = new Members(turns, parts)
  const answer = answerInTurns(turns, members, 'backend_empty')
  const header = { Proto: '', EdgeType: edgeTypes[edge], PassthroughTLS: passthrough }
  return {
    answer: exchange => {
      exchange.context.backendId = row.id
      return answer(exchange)
    },
    dial: dialInTurns(turns, (tunnel, client, first) =>
      dialer.dial(tunnel, { ...header, Id: tunnel.id, ClientAddr: clientAddress(client) }, first),
    ),
    close: () => members.close(),
  }
}
