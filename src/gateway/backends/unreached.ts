import type { ErrorName } from '#base/errors.ts'
import type { Exchange, Reply } from '#http/exchange.ts'
import { errorReply } from '#http/pages.ts'

/** A refusal before any service was asked. */
export const unreached = (code: ErrorName, { head }: Exchange): Reply => ({
  ...errorReply(code, head),
  lost: 'unreached',
})
