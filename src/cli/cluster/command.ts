import { Command, Option } from 'commander'
import { addConnectionOptions } from '#cli/connection-options.ts'
import type { ClusterCommandOptions } from '#cli/cluster/actions.ts'

/** `adit cluster`: the nodes of the cluster, and how to stop one without failed requests. */
export function clusterCommand(): Command {
  const command = addConnectionOptions(
    new Command('cluster').description('List the nodes of the cluster.'),
  ).addOption(new Option('-o, --output <format>', 'Output format.').choices(['text', 'json']).default('text'))
  command.action(async () => {
    const { printNodes } = await import('#cli/cluster/actions.ts')
    await printNodes(command.opts<ClusterCommandOptions>())
  })
  const drain = addConnectionOptions(
    new Command('drain')
      .description('Move the agents and clients of a node to the others, then stop it.')
      .argument('<node>', 'id of the node, as adit cluster lists it'),
  )
  return command.addCommand(
    drain.action(async (node: string) => {
      const { drainNode } = await import('#cli/cluster/actions.ts')
      await drainNode(node, {
        ...command.opts<ClusterCommandOptions>(),
        ...drain.opts<ClusterCommandOptions>(),
      })
    }),
  )
}
