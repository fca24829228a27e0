import type { ErrorName } from '#base/errors.ts'
import type { Exchange, Reply } from '#http/exchange.ts'
import { errorReply } from '#http/pages.ts'

/** An error before any service was contacted; `values` are those of the page. */
export const unreached = (
  code: ErrorName,
  { head }: Exchange,
  values?: Readonly<Record<string, string>>,
): Reply => ({
  ...errorReply(code, head, values),
  failure: 'not-sent',
})
