import type { ErrorName } from '#base/errors.ts'
import type { Exchange, Reply } from '#http/exchange.ts'
import { errorReply } from '#http/pages.ts'

/** An error before any service was contacted. */
export const unreached = (code: ErrorName, { head }: Exchange): Reply => ({
  ...errorReply(code, head),
  failure: 'not-sent',
})
