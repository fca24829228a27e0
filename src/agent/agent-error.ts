import { plainText } from '#agent/plain-text.ts'
import type { Problem } from '#base/errors.ts'

interface AgentErrorOptions {
  readonly code?: string | undefined
  readonly permanent?: boolean | undefined
  readonly cause?: unknown
}

/** Why an agent or a tunnel is not online. */
export class AgentError extends Error {
  override readonly name = 'AgentError'
  /** The error number, such as ERR_ADIT_107; absent if it has none. */
  readonly code: string | undefined
  /** A retry cannot succeed: the user has to act. */
  readonly permanent: boolean

  constructor(message: string, { code, permanent = false, cause }: AgentErrorOptions = {}) {
    // Part of it may come from a gateway, and is shown in a terminal.
    super(plainText(message), cause === undefined ? undefined : { cause })
    this.code = code
    this.permanent = permanent
  }

  /** An error of the catalogue. */
  static of(problem: Problem, { permanent, cause }: Omit<AgentErrorOptions, 'code'> = {}): AgentError {
    const code = problem.number === undefined ? undefined : `ERR_ADIT_${problem.number}`
    return new AgentError(problem.message, { code, permanent, cause })
  }
}

/** Error numbers that mean that a retry will fail again. */
const permanentNumbers = {
  signIn: new Set([105, 107, 108, 4018, 90050, 90250]),
  // An address in use is not among them: it may become free.
  bind: new Set([90053, 90054, 90055, 90056, 90057, 90058, 90059]),
}

/** Parses an error of a gateway: the text, and the number on a line of its own. */
export function refusal(text: string, of: keyof typeof permanentNumbers): AgentError {
  const number = /ERR_[A-Z]{1,16}_(\d{1,9})/.exec(text)?.[1]
  const lines = text.split(/\r?\n/).filter(line => line.trim() !== '' && !/ERR_[A-Z]{1,16}_\d/.test(line))
  const message = lines.join(' ') || 'The gateway rejected the request without a reason.'
  return new AgentError(message, {
    code: number === undefined ? undefined : `ERR_ADIT_${number}`,
    permanent: permanentNumbers[of].has(Number(number)),
  })
}
