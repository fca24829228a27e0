import type { AgentError } from '#agent/agent-error.ts'
import type { AgentStatus, ConnectionEvent, RequestEvent } from '#agent/events.ts'
import type { Tunnel } from '#agent/tunnel.ts'

export type NoteLevel = 'info' | 'warn' | 'error'

/** Shows a person or a log what the agent does. */
export interface View {
  /** Somebody watches it. */
  readonly isTerminal: boolean
  /** The inspector and the local API are at this address. */
  inspector(url: string): void
  status(status: AgentStatus): void
  /** These are online, beside others that were told of before. */
  opened(tunnels: readonly Tunnel[]): void
  connection(event: ConnectionEvent): void
  request(event: RequestEvent): void
  /** Anything else that somebody should know. */
  note(level: NoteLevel, message: string): void
  /** It ends for this reason, which the program prints itself. */
  failed(error: AgentError): void
  /** Leaves the terminal as it was. */
  close(): void
}

export const labelText = (labels: Readonly<Record<string, string>> = {}): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',')
