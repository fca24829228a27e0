import type { EndpointOptions } from '#agent/options.ts'
import { pemInput } from '#agent/pem-input.ts'
import { refuseEndpoint as refuse } from '#agent/refuse-endpoint.ts'
import type { Json, JsonObject } from '#base/json-fields.ts'
import { agentModules } from '#tunnel/agent-modules.ts'
import { propertyOf, valueOf } from '#tunnel/option-values.ts'
import type { OptionKey, optionRows } from '#tunnel/tunnel-options.ts'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Options that are sent in another form than they are given. */
const encoders: { readonly [Key in OptionKey]?: (value: never) => Json } = {
  basic_auth: (given: readonly string[]) => given.map(credential),
  circuit_breaker: threshold,
  mutual_tls_cas: authorities,
}

/** The traffic options in wire format; null for unset ones. */
export function wireModules(options: EndpointOptions): JsonObject {
  const given = withHostHeader(options)
  const wire = Object.entries(agentModules).map(([name, { rows }]) => [name, moduleOf(rows, given)] as const)
  return Object.fromEntries(wire)
}

/** One module, with all its members once it is requested. */
function moduleOf(rows: typeof optionRows, options: EndpointOptions): JsonObject | null {
  if (!rows.some(row => isRequested(row, options))) return null
  const members = rows.flatMap(([key, { module = '', form }]) => {
    const [, member] = module.split('.')
    if (member === undefined) return []
    const encode = encoders[key] as ((value: unknown) => Json) | undefined
    const value = valueOf(options, key) ?? form.empty
    return [[member, encode ? encode(value) : (value as Json)] as const]
  })
  return Object.fromEntries(members)
}

/** Empty lists request nothing. Empty text and a map without its main part do: they are meant to restrict access. */
function isRequested([key, { main }]: (typeof optionRows)[number], options: EndpointOptions): boolean {
  if (main !== undefined) return options[propertyOf(key)[0] as keyof EndpointOptions] !== undefined
  const value = valueOf(options, key)
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false
}

function withHostHeader(options: EndpointOptions): EndpointOptions {
  const { hostHeader = '', requestHeaders = {} } = options
  if (hostHeader === '' || hostHeader === 'rewrite') return options
  const add = [...(requestHeaders.add ?? []), `host:${hostHeader}`]
  return { ...options, requestHeaders: { ...requestHeaders, add } }
}

function threshold(share: number): number {
  // NaN would arrive as null, which means zero.
  if (!(share >= 0 && share <= 1)) refuse('the threshold of a circuit breaker is a number from 0 to 1')
  return share
}

function credential(text: string): JsonObject {
  const colon = text.indexOf(':')
  // The text is not repeated: it is a secret.
  if (colon < 1) refuse('a credential must have the form user:password')
  return { username: text.slice(0, colon), cleartext_password: text.slice(colon + 1) }
}

/** Only certificates are sent: the file may also contain the CA's key. */
function authorities(given: string): string {
  const found = pemInput(given).match(CERTIFICATE)
  if (found === null) return refuse('the CAs for client certificates are not certificates in PEM')
  return Buffer.from(`${found.join('\n')}\n`).toString('base64')
}
