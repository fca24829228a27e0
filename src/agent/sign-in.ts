import { AgentError, refusal } from '#agent/agent-error.ts'
import type { AgentOptions, CommandName } from '#agent/options.ts'
import { Problem } from '#base/errors.ts'
import { authAnswer, type AuthAnswer, type AuthRequest } from '#tunnel/messages.ts'
import { call } from '#tunnel/rpc.ts'
import type { MuxSession } from '#tunnel/mux-session.ts'
import { streamTypes } from '#tunnel/stream-types.ts'
import metadata from '../../package.json' with { type: 'json' }

const NO_CALLBACK = 'the agent has not defined a callback for this operation'
const NANOSECONDS = 1_000_000
const BEAT_MS = 5000
const SILENCE_MS = 10_000

export const agentVersion: string = metadata.version

/** The agent's identity for the gateway; kept across connections. */
export interface AgentIdentity {
  readonly clientId: string
  readonly cookie: string
}

/** Support for a command: empty when supported, otherwise the reason. */
export function unsupportedReason(command: CommandName, { commands, unsupported }: AgentOptions): string {
  const reason = unsupported?.[command] ?? ''
  return reason !== '' || commands?.[command] !== undefined ? reason : NO_CALLBACK
}

export function signInRequest(
  options: AgentOptions,
  identity: AgentIdentity,
  connection: number,
): AuthRequest {
  const { intervalMs = BEAT_MS, limitMs = SILENCE_MS } = options.heartbeat ?? {}
  return {
    Version: ['3', '2'],
    ClientId: identity.clientId,
    Extra: {
      OS: process.platform,
      Arch: process.arch,
      AuthToken: options.authtoken ?? process.env['ADIT_AUTHTOKEN'] ?? '',
      Version: metadata.version,
      Hostname: '',
      // The gateway recognises Adit agents by the first word: they are ready for connections at once.
      UserAgent: `adit/${metadata.version} ${options.userAgent ?? `node/${process.versions.node}`}`,
      Metadata: options.metadata ?? '',
      Cookie: identity.cookie,
      HeartbeatInterval: intervalMs * NANOSECONDS,
      HeartbeatTolerance: (limitMs - intervalMs) * NANOSECONDS,
      UpdateUnsupportedError: unsupportedReason('update', options),
      StopUnsupportedError: unsupportedReason('stop', options),
      RestartUnsupportedError: unsupportedReason('restart', options),
      ProxyType: '',
      MutualTLS: false,
      ServiceRun: false,
      ConfigVersion: '',
      CustomInterface: false,
      CustomCAs: options.ca !== undefined,
      ClientType: 'adit',
      LegNumber: connection,
    },
  }
}

/** Signs in on a new connection; rejects with the gateway's reason. */
export async function signIn(session: MuxSession, request: AuthRequest, server: string): Promise<AuthAnswer> {
  const answer = await call(session, { type: streamTypes.auth, request, answer: authAnswer }).catch(
    (error: unknown) => {
      const reason = error instanceof Error ? error.message.replace(/\.$/, '') : ''
      throw AgentError.of(new Problem('agent_answer', { server, reason }), { cause: error })
    },
  )
  if (answer.Error !== '') throw refusal(answer.Error, 'signIn')
  return answer
}
