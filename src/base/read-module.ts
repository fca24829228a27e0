import { fail } from '#base/errors.ts'
import { type FieldReader, type JsonObject, MessageError } from '#base/json-fields.ts'

/** Decodes a module's options; an agent that sent invalid ones gets an error with the position. */
export function readModule<T>(option: string, field: FieldReader<T>, given: JsonObject): T {
  try {
    return field(given, '')
  } catch (error) {
    if (!(error instanceof MessageError)) throw error
    return fail('bind_option', { option, reason: error.message.replace(/\.$/, '') })
  }
}
