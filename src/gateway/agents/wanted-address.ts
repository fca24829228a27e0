import { fail } from '#base/errors.ts'
import { normalName } from '#base/hosts.ts'
import { nameFault } from '#base/name-fault.ts'
import type { Proto } from '#gateway/agents/bind-options.ts'
import type { BindOptions } from '#tunnel/messages.ts'

/** The address that an agent requests; without a name or a port it gets a random one. */
export type WantedAddress =
  | { readonly scheme: 'http' | 'https' | 'tls'; readonly host: string | undefined }
  | { readonly scheme: 'tcp'; readonly port: number | undefined }

/** The host and the port in a URL or an address; either may be empty. */
function partsOf(text: string): { host: string; port: string } {
  const rest = text.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/[/?#].*$/, '')
  const colon = rest.lastIndexOf(':')
  return colon === -1 ? { host: rest, port: '' } : { host: rest.slice(0, colon), port: rest.slice(colon + 1) }
}

function readPort(text: string): number | undefined {
  const { host, port } = partsOf(text)
  // Only the port counts: every host name of the installation resolves to the same one.
  const digits = port === '' && /^\d+$/.test(host) ? host : port
  if (digits === '' || digits === '0') return undefined
  return /^\d{1,5}$/.test(digits)
    ? Number(digits)
    : fail('bind_port', { port: digits, reason: 'it is not a number' })
}

/** A full name in canonical form; one without a dot is under the shared domain. */
function readHost(text: string, base: string): string | undefined {
  const given = normalName(partsOf(text).host)
  if (given === '') return undefined
  const name = given.includes('.') ? given : `${given}.${base}`
  const fault = nameFault(name)
  if (fault !== undefined || /(^|\.)\d+$/.test(name))
    fail('bind_name', {
      name: given.slice(0, 100),
      reason: 'it is not a valid host name. Use letters, digits and dashes, with dots between labels',
    })
  return name
}

/** Reads the address from the options: URL, Domain, Hostname and Subdomain in this order, or Addr for TCP. */
export function wantedAddress(proto: Proto, options: BindOptions, base: string): WantedAddress {
  if (proto === 'tcp') return { scheme: 'tcp', port: readPort(options.URL || options.Addr) }
  const subdomain = options.Subdomain === '' ? '' : `${options.Subdomain}.${base}`
  const given = options.URL || options.Domain || options.Hostname || subdomain
  return { scheme: proto, host: readHost(given, base) }
}
