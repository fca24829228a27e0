import { readFileSync } from 'node:fs'
import { AgentError } from '#agent/agent-error.ts'
import { Problem } from '#base/errors.ts'

/** PEM text as given, or the content of the named file. */
export function pemInput(given: string): string {
  if (given.includes('-----BEGIN ')) return given
  try {
    return readFileSync(given, 'utf8')
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'it is not PEM'
    throw AgentError.of(new Problem('agent_file', { path: given.slice(0, 200), reason }), {
      permanent: true,
      cause: error,
    })
  }
}
