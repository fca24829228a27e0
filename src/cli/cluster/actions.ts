import { findConnection, type ConnectionOptions } from '#cli/connection.ts'
import { unlessAbsent } from '#cli/failure.ts'
import { printable, printableJson } from '#cli/printable.ts'
import { createClient } from '#client/client.ts'

export interface ClusterCommandOptions extends ConnectionOptions {
  readonly output: 'text' | 'json'
}

type Client = ReturnType<typeof createClient>
type NodeView = Awaited<ReturnType<Client['nodes']['get']>>

function clientOf(options: ConnectionOptions): Client {
  const { url, token } = findConnection(options, process.env)
  return createClient({ url, token: token.reveal() })
}

const HEADINGS = ['ID', 'NAME', 'STATE', 'VERSION', 'REGION', 'LEASE AGE', 'AGENTS', 'TUNNELS', 'CLIENTS']

const cells = (node: NodeView): string[] => [
  node.id,
  node.name,
  node.state,
  node.version,
  node.region,
  node.lease_age_ms === null ? '-' : `${(node.lease_age_ms / 1000).toFixed(1)} s`,
  String(node.agents),
  String(node.tunnels),
  node.clients === null ? '-' : String(node.clients),
]

function tableOf(nodes: readonly NodeView[]): string {
  const rows = [HEADINGS, ...nodes.map(cells)].map(row => row.map(cell => printable(cell)))
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  return rows
    .map(row =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

export async function printNodes(options: ClusterCommandOptions): Promise<void> {
  const nodes: NodeView[] = []
  for await (const node of clientOf(options).nodes.all()) nodes.push(node)
  const text = options.output === 'json' ? printableJson(JSON.stringify(nodes, null, 2)) : tableOf(nodes)
  process.stdout.write(`${text}\n`)
}

export async function drainNode(id: string, options: ConnectionOptions): Promise<void> {
  const absent = `The cluster has no node ${JSON.stringify(id)}: "adit cluster" lists the ids of all nodes.`
  await unlessAbsent(clientOf(options).nodes.drain(id), absent)
  process.stdout.write(`${printable(id)} drains; it exits when its requests are finished.\n`)
}
