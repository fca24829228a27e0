import { type ErrorName, fail } from '#base/errors.ts'
import type { AgentCommand } from '#registry/directory.ts'
import { MessageError } from '#base/json-fields.ts'
import { TunnelError } from '#tunnel/frame.ts'
import { type AuthRequest, plainAnswer } from '#tunnel/messages.ts'
import { call } from '#tunnel/rpc.ts'
import type { MuxSession } from '#tunnel/mux-session.ts'
import { streamTypes } from '#tunnel/stream-types.ts'

const ANSWER_MS = 10_000

interface CommandForm {
  readonly type: number
  readonly request: object
  readonly unsupported: ErrorName & `${AgentCommand}_unsupported`
  readonly failed: ErrorName & `${AgentCommand}_failed`
  /** From the login: empty when supported, otherwise the reason; null when the agent does not know the command. */
  readonly unsupportedReason: (extra: AuthRequest['Extra']) => string | null
}

const forms: Readonly<Record<AgentCommand, CommandForm>> = {
  restart: {
    type: streamTypes.restart,
    request: {},
    unsupported: 'restart_unsupported',
    failed: 'restart_failed',
    unsupportedReason: extra => extra.RestartUnsupportedError,
  },
  stop: {
    type: streamTypes.stop,
    request: {},
    unsupported: 'stop_unsupported',
    failed: 'stop_failed',
    unsupportedReason: extra => extra.StopUnsupportedError,
  },
  update: {
    type: streamTypes.update,
    // An empty version is the latest.
    request: { Version: '', PermitMajorVersion: false },
    unsupported: 'update_unsupported',
    failed: 'update_failed',
    unsupportedReason: extra => extra.UpdateUnsupportedError,
  },
}

/** The catalogue's sentence already ends with a full stop. */
const asReason = (text: string): string => text.trim().replace(/\.+$/, '')

/** Sends a command to an agent; resolves when it has accepted it. */
export async function sendCommand(
  session: MuxSession,
  command: AgentCommand,
  extra: AuthRequest['Extra'],
  deadlineMs = ANSWER_MS,
): Promise<void> {
  const { type, request, unsupported, failed, unsupportedReason } = forms[command]
  const reason = unsupportedReason(extra)
  if (reason === null) fail(unsupported, { reason: 'it is too old for this command' })
  if (reason !== '') fail(unsupported, { reason: asReason(reason) })
  const { Error: refusal } = await call(
    session,
    { type, request, answer: plainAnswer },
    { deadlineMs },
  ).catch((error: unknown) => {
    // Late, truncated or invalid: whether the command was executed is unknown.
    if (error instanceof TunnelError || error instanceof MessageError) return fail('command_unanswered')
    throw error
  })
  if (refusal !== '') fail(failed, { reason: asReason(refusal) })
}
