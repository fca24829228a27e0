import { Problem } from '#base/errors.ts'
import { MessageError } from '#base/json-fields.ts'
import { TunnelError } from '#tunnel/frame.ts'

/**
 * An error in the form that agents parse: the text, and the code on a line of its own. The prefix is fixed in the
 * agents; a code with another one would be shown as part of the text.
 */
export function agentError(error: unknown): string {
  if (error instanceof Problem)
    return error.number === undefined ? error.message : `${error.message}\n\nERR_NGROK_${error.number}\n`
  return error instanceof MessageError || error instanceof TunnelError ? error.message : 'Internal error.'
}
