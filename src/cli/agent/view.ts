import type { AgentError } from '#agent/agent-error.ts'
import type { AgentStatus, ConnectionEvent, RequestEvent } from '#agent/events.ts'
import type { Tunnel } from '#agent/tunnel.ts'

export type NoteLevel = 'info' | 'warn' | 'error'

/** Shows users or a log what the agent does. */
export interface AgentView {
  /** There is a viewer. */
  readonly isTerminal: boolean
  /** The address of the inspector and the local API. */
  inspector(url: string): void
  status(status: AgentStatus): void
  /** These are online, in addition to those reported before. */
  opened(tunnels: readonly Tunnel[]): void
  connection(event: ConnectionEvent): void
  request(event: RequestEvent): void
  /** Any other message for the user. */
  note(level: NoteLevel, message: string): void
  /** The reason for the end, which the program prints itself. */
  failed(error: AgentError): void
  /** Restores the terminal. */
  close(): void
}

export const labelText = (labels: Readonly<Record<string, string>> = {}): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',')
