import type { DirectoryChange } from '#cluster/directory-copy.ts'
import { ClusterDirectory } from '#cluster/nodes/cluster-directory.ts'
import type { DirectoryRecords } from '#cluster/shared-directory.ts'
import type { Directory } from '#registry/directory.ts'

/**
 * Fills the directory of a new first process with what the workers hold. The later tunnel has an address that two have:
 * the other one was just being closed.
 */
export async function restoreDirectory(
  directory: Directory,
  records: readonly DirectoryRecords[],
): Promise<void> {
  const sessions = records.flatMap(each => each.sessions)
  const tunnels = records
    .flatMap(each => each.tunnels)
    .toSorted((one, other) => (one.startedAt < other.startedAt ? 1 : -1))
  if (directory instanceof ClusterDirectory) return directory.adopt({ sessions, tunnels })
  for (const session of sessions) await directory.addSession(session)
  for (const tunnel of tunnels) await directory.addTunnel(tunnel)
}

/** Reports every change in the form in which workers apply it. */
export const watchChanges = (
  directory: Pick<Directory, 'watch'>,
  notify: (change: DirectoryChange) => void,
): (() => void) =>
  directory.watch({
    sessionAdded: session => notify({ is: 'session_added', session }),
    sessionRemoved: session => notify({ is: 'session_removed', session }),
    added: tunnel => notify({ is: 'tunnel_added', tunnel }),
    removed: (tunnel, lost) => notify({ is: 'tunnel_removed', tunnel, lost }),
  })
