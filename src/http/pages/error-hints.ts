import type { ErrorName } from '#base/errors.ts'
import { gatewayHints } from '#http/pages/hints/gateway.ts'
import type { Hint } from '#http/pages/hints/hint.ts'
import { samlHints } from '#http/pages/hints/saml.ts'
import { signInHints } from '#http/pages/hints/sign-in.ts'

export const fallback: Hint = {
  title: 'Request rejected',
  visitor: 'Check the address and try again.',
}

/** One row for each error that a client can get. */
export const hints: Readonly<Partial<Record<ErrorName, Hint>>> = {
  ...gatewayHints,
  ...signInHints,
  ...samlHints,
}
