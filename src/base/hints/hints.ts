import type { ErrorName } from '#base/errors.ts'
import { gatewayHints } from '#base/hints/gateway.ts'
import type { Hint } from '#base/hints/hint.ts'
import { samlHints } from '#base/hints/saml.ts'
import { signInHints } from '#base/hints/sign-in.ts'

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
