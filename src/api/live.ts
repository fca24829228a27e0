import type { Body } from '#contract/body.ts'

export type LiveKind = 'tunnel_session' | 'tunnel' | 'endpoint' | 'request'
export type Command = 'restart' | 'stop' | 'update'

/**
 * What is online now. The gateway implements it. Resources come without `uri`; a Ref in them is given as the id
 * and the path of what it names.
 */
export interface Live {
  get(kind: LiveKind, id: string): Promise<Body | undefined>
  /** Newest first, ids smaller than `before`. */
  list(kind: LiveKind, page: { before?: string; limit: number }): Promise<Body[]>
  /** Ids of the online tunnels that carry all of these labels. */
  tunnelsWith(labels: Readonly<Record<string, string>>): Promise<string[]>
  /** Resolves when the agent has accepted the command; rejects with a Problem otherwise. */
  command(sessionId: string, command: Command): Promise<void>
}
