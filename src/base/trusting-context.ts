import { createSecureContext, type SecureContext } from 'node:tls'

/** The least that outgoing connections accept. */
const minVersion = 'TLSv1.2'

/** Trusts only these CAs, as PEM text. */
export const contextTrusting = (ca: readonly string[]): SecureContext =>
  createSecureContext({ ca: [...ca], minVersion })

/**
 * Trusts these CAs in addition to those that Node trusts by itself. Node parses its own once in a process; as `ca` they
 * would be parsed again for each context, which takes 40 ms.
 */
export function contextTrustingAlso(ca: readonly string[]): SecureContext {
  const context = createSecureContext({ minVersion })
  // What Node itself does with `ca`. A context with the CAs of Node gets a store of its own before anything is added.
  for (const pem of ca) context.context.addCACert(pem)
  return context
}
