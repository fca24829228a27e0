import type { ErrorName } from '#base/errors.ts'

/** Why a message is rejected: a catalogue entry and the values for its text. */
export class HttpError {
  readonly code: ErrorName
  readonly values: Readonly<Record<string, string | number>>

  constructor(code: ErrorName, values: Readonly<Record<string, string | number>> = {}) {
    this.code = code
    this.values = values
  }
}

export const malformed = (reason: string): HttpError => new HttpError('bad_message', { reason })
