import type { ErrorName } from '#base/errors.ts'

/** Why a message is not taken: an entry of the catalogue and what its text wants. */
export class Refusal {
  readonly code: ErrorName
  readonly values: Readonly<Record<string, string | number>>

  constructor(code: ErrorName, values: Readonly<Record<string, string | number>> = {}) {
    this.code = code
    this.values = values
  }
}

export const malformed = (reason: string): Refusal => new Refusal('bad_message', { reason })
