import { machineOf } from '#registry/machine-of.ts'
import type { Directory } from '#registry/directory.ts'

/** The sessions of one node: every node reports its own agents. */
export const ownSessions = (directory: Directory, node: string): Pick<Directory, 'watch'> => ({
  watch: listener =>
    directory.watch({
      sessionAdded: (session, isReplaced) => {
        if (machineOf(session.node) === node) listener.sessionAdded?.(session, isReplaced)
      },
      sessionRemoved: (session, error) => {
        if (machineOf(session.node) === node) listener.sessionRemoved?.(session, error)
      },
    }),
})
