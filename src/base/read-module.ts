import { fail } from '#base/errors.ts'
import { type Field, type JsonObject, MessageError } from '#base/json-fields.ts'

/** A module's options in the form it works with; an agent that sent another is refused, and told where it is wrong. */
export function readModule<T>(option: string, field: Field<T>, given: JsonObject): T {
  try {
    return field(given, '')
  } catch (error) {
    if (!(error instanceof MessageError)) throw error
    return fail('bind_option', { option, reason: error.message.replace(/\.$/, '') })
  }
}
