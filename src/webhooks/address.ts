import type { Webhook } from '#webhooks/webhook.ts'

const PORT = /:\d+$/
const defaultPorts = { http: ':80', https: ':443' } as const

/**
 * The URL of a webhook, in the forms in which senders sign it: as received, and with the port omitted or written out,
 * because some sign the configured form and others a normalized one.
 */
export function addressesOf({ scheme, authority, target }: Webhook): readonly string[] {
  const other = PORT.test(authority) ? authority.replace(PORT, '') : authority + defaultPorts[scheme]
  return [`${scheme}://${authority}${target}`, `${scheme}://${other}${target}`]
}

/** The query. */
export function queryOf(target: string): string {
  const mark = target.indexOf('?')
  return mark < 0 ? '' : target.slice(mark + 1)
}
