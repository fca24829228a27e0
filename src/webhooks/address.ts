import type { Webhook } from '#webhooks/webhook.ts'

const PORT = /:\d+$/
const defaultPorts = { http: ':80', https: ':443' } as const

/**
 * The address that a webhook was sent to, in the forms in which senders sign it: as it came, and with the port left
 * out or written out, because some sign what was configured and others what they made of it.
 */
export function addressesOf({ scheme, authority, target }: Webhook): readonly string[] {
  const other = PORT.test(authority) ? authority.replace(PORT, '') : authority + defaultPorts[scheme]
  return [`${scheme}://${authority}${target}`, `${scheme}://${other}${target}`]
}

/** What stands behind the question mark. */
export function queryOf(target: string): string {
  const mark = target.indexOf('?')
  return mark < 0 ? '' : target.slice(mark + 1)
}
