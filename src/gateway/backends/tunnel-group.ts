import type { tunnelGroupBackend as contract } from '#contract/kinds/backends.ts'
import type { Kept } from '#contract/shape.ts'
import type { BuildBackend } from '#gateway/backends/backend.ts'
import { GroupTurns } from '#gateway/backends/group-turns.ts'
import { answerInTurns, dialInTurns, Members } from '#gateway/backends/in-turns.ts'
import { clientAddress } from '#gateway/listeners/visitor.ts'

const edgeTypes = { tcp: '1', tls: '2', https: '3' } as const

/** Shares traffic among the online tunnels with all labels of the group. */
export const tunnelGroupBackend: BuildBackend = ({ id, body }, parts) => {
  const { labels } = body as Kept<typeof contract.shape>
  const { index, fleet, edge, passthrough = edge === 'tls' } = parts
  const turns = new GroupTurns(index, () => index.withLabels(labels))
  const members = new Members(turns, parts)
  const answer = answerInTurns(turns, members, 'backend_empty')
  const header = { Proto: '', EdgeType: edgeTypes[edge], PassthroughTLS: passthrough }
  return {
    answer: exchange => {
      exchange.trace.backendId = id
      return answer(exchange)
    },
    dial: dialInTurns(turns, (tunnel, visitor, first) =>
      fleet.dial(tunnel, { ...header, Id: tunnel.id, ClientAddr: clientAddress(visitor) }, first),
    ),
    close: () => members.close(),
  }
}
