import type { ErrorName } from '#base/errors.ts'
import type { Exchange, Reply } from '#gateway/exchange.ts'
import { errorReply } from '#gateway/pages.ts'

/** A refusal before any service was asked. */
export const unreached = (code: ErrorName, { head }: Exchange): Reply => ({
  ...errorReply(code, head),
  lost: 'unreached',
})
