import { AgentError } from '#agent/agent-error.ts'
import { isLocal, type AgentSettings } from '#cli/agent/agent-settings.ts'
import { firstCredential } from '#cli/agent/first-credential.ts'
import { CommandError, exitCodes } from '#cli/failure.ts'
import { flagName, optionRows } from '#tunnel/tunnel-options.ts'

const TOKEN_HINT =
  'The token of an agent credential comes from --authtoken-file, ADIT_AUTHTOKEN or the configuration file; ' +
  '"adit config add-authtoken -" stores it there. ' +
  "On the gateway's machine it is the file authtoken in its data folder."

interface Meaning {
  readonly exitCode: number
  readonly hint?: string
}

/** Exit codes of error numbers, and advice for users. */
const meanings: Readonly<Record<string, Meaning>> = {
  ERR_ADIT_105: { exitCode: exitCodes.auth, hint: TOKEN_HINT },
  ERR_ADIT_107: { exitCode: exitCodes.auth, hint: TOKEN_HINT },
  ERR_ADIT_4018: { exitCode: exitCodes.auth, hint: TOKEN_HINT },
  ERR_ADIT_90050: { exitCode: exitCodes.auth },
  ERR_ADIT_90250: { exitCode: exitCodes.auth },
  ERR_ADIT_334: { exitCode: exitCodes.conflict },
  ERR_ADIT_90052: { exitCode: exitCodes.conflict },
  ERR_ADIT_90062: {
    exitCode: exitCodes.failure,
    hint: '--scheme http or --scheme https opens only the address of that scheme.',
  },
  ERR_ADIT_90080: { exitCode: exitCodes.usage },
  ERR_ADIT_90081: { exitCode: exitCodes.config },
  ERR_ADIT_90087: { exitCode: exitCodes.usage },
  ERR_ADIT_90088: { exitCode: exitCodes.usage },
  ERR_ADIT_90083: {
    exitCode: exitCodes.failure,
    hint: '--ca <file> or ADIT_CA_FILE names the CA. "adit diagnose" shows the certificate.',
  },
  ERR_ADIT_90302: { exitCode: exitCodes.failure, hint: '"adit diagnose" shows the certificate.' },
}

/** The gateway rejects this agent's credential. */
export const isAuthFailure = ({ code = '' }: AgentError): boolean =>
  code === 'ERR_ADIT_105' || code === 'ERR_ADIT_107'

const signInCodes = new Set(
  ['105', '107', '108', '4018', '90050', '90250'].map(number => `ERR_ADIT_${number}`),
)

/** The gateway rejected the agent itself, not one of its tunnels. */
export const isSignInFailure = (code: string): boolean => signInCodes.has(code)

/** The flags of the module that a gateway rejected: its messages have the names of the protocol. */
function moduleFlags({ code, message }: AgentError): string | undefined {
  if (code !== 'ERR_ADIT_90058') return undefined
  const option = /^The option (\w+) /.exec(message)?.[1]
  const rows = optionRows.filter(([, { module = '' }]) => module.split('.')[0] === option)
  return rows.length === 0 ? undefined : `Its flags: ${rows.map(flagName).join(', ')}`
}

/** The user's message for an agent error. */
export function commandError(error: AgentError): CommandError {
  const { exitCode, hint = moduleFlags(error) } = meanings[error.code ?? ''] ?? {
    exitCode: exitCodes.failure,
  }
  const lines = [error.message, error.code && `code ${error.code}`, hint].filter(line => line !== undefined)
  return new CommandError(lines.join('\n  '), exitCode)
}

/** The error without an authtoken; that of a gateway on this machine may be unreadable for this user. */
export function absentToken({ server }: AgentSettings): string {
  const problem = isLocal(server.value) ? firstCredential(process.env).problem : undefined
  return `there is no authtoken to sign in with${problem === undefined ? '' : `: ${problem}`}`
}

export const noToken = (settings: AgentSettings): CommandError =>
  new CommandError(`${absentToken(settings)}\n  ${TOKEN_HINT}`, exitCodes.auth)
