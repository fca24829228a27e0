import type { BuildBackend } from '#gateway/backends/backend.ts'
import { TunnelBalancer } from '#gateway/backends/tunnel-balancer.ts'
import { answerBalanced, dialBalanced, Members } from '#gateway/backends/balanced.ts'
import { clientAddress } from '#base/client-network.ts'
import { groupOf } from '#registry/records/tunnel-group.ts'

const edgeTypes = { tcp: '1', tls: '2', https: '3' } as const

/** Balances traffic over the owner's online tunnels with all labels of the group. */
export const tunnelGroupBackend: BuildBackend = (row, parts) => {
  const group = groupOf(row)
  const { index, dialer, edge, passthrough = edge === 'tls' } = parts
  const balancer = new TunnelBalancer(index, () => index.ofGroup(group))
  const members = new Members(balancer, parts)
  const answer = answerBalanced(balancer, members, 'backend_empty')
  const header = { Proto: '', EdgeType: edgeTypes[edge], PassthroughTLS: passthrough }
  return {
    answer: exchange => {
      exchange.context.upstream.backendId = row.id
      return answer(exchange)
    },
    dial: dialBalanced(balancer, (tunnel, client, first) =>
      dialer.dial(tunnel, { ...header, Id: tunnel.id, ClientAddr: clientAddress(client) }, first),
    ),
    close: () => members.close(),
  }
}
