import type { BuildBackend } from '#gateway/backends/backend.ts'
import { TunnelBalancer } from '#gateway/backends/tunnel-balancer.ts'
import { answerBalanced, dialBalanced, Members, type NoTunnel } from '#gateway/backends/balanced.ts'
import { clientAddress } from '#base/client-network.ts'
import { groupOf } from '#registry/records/tunnel-group.ts'

// People paste commands from error pages, so only labels that a shell leaves as they are get into one.
const PLAIN = /^\w[\w.:/@-]{0,99}$/
const MAX_SHOWN = 4

function noTunnel(labels: Readonly<Record<string, string>>): NoTunnel {
  const pairs = Object.entries(labels)
  const isPlain = pairs.flat().every(text => PLAIN.test(text))
  const isShown = isPlain && pairs.length > 0 && pairs.length <= MAX_SHOWN
  const shown = pairs.map(([name, value]) => `--label ${name}=${value}`).join(' ')
  return { code: 'backend_empty', ...(isShown && { values: { labels: shown } }) }
}

const edgeTypes = { tcp: '1', tls: '2', https: '3' } as const

/** Balances traffic over the owner's online tunnels with all labels of the group. */
export const tunnelGroupBackend: BuildBackend = (row, parts) => {
  const group = groupOf(row)
  const { index, dialer, edge, passthrough = edge === 'tls' } = parts
  const balancer = new TunnelBalancer(index, () => index.ofGroup(group))
  const members = new Members(balancer, parts)
  const answer = answerBalanced(balancer, members, noTunnel(group.labels))
  const header = { Proto: '', EdgeType: edgeTypes[edge], PassthroughTLS: passthrough }
  return {
    answer: exchange => {
      exchange.context.upstream.backendId = row.id
      return answer(exchange)
    },
    dial: dialBalanced(balancer, (tunnel, client, first) => {
      client.onTunnel?.(tunnel)
      return dialer.dial(tunnel, { ...header, Id: tunnel.id, ClientAddr: clientAddress(client) }, first)
    }),
    close: () => members.close(),
  }
}
