import { domainToUnicode } from 'node:url'
import type { ErrorName } from '#base/errors.ts'

/** Why a name is not a valid host name: the catalogue entry and the invalid label. */
export interface NameFault {
  readonly code: ErrorName & `domain_${string}`
  readonly label: string
}

/** Names are compared in lower case and without the root dot. */
export const normalName = (name: string): string => name.toLowerCase().replace(/\.$/, '')

function labelFault(label: string): NameFault['code'] | undefined {
  if (label === '') return 'domain_empty_label'
  if (label.length > 63) return 'domain_label_length'
  if (label.startsWith('-')) return 'domain_label_start'
  if (label.endsWith('-')) return 'domain_label_end'
  if (label.startsWith('xn--')) return isPunycode(label) ? undefined : 'domain_punycode'
  return label.slice(2, 4) === '--' ? 'domain_hyphens' : undefined
}

/** Labels that cannot be decoded stay unchanged. */
const isPunycode = (label: string): boolean => domainToUnicode(label) !== label

/** The error in a normalised name that may start with a wildcard label. */
export function nameFault(name: string): NameFault | undefined {
  if (name.length > 253) return { code: 'domain_length', label: '' }
  if (name.includes('_')) return { code: 'domain_underscore', label: '' }
  if (!/^[a-z0-9.*-]*$/.test(name)) return { code: 'domain_character', label: '' }
  const labels = name.split('.')
  const [first = '', ...rest] = labels
  if (rest.some(label => label.includes('*'))) return { code: 'domain_wildcard_place', label: '*' }
  if (first.includes('*') && first !== '*') return { code: 'domain_wildcard_label', label: first }
  for (const label of first === '*' ? rest : labels) {
    const code = labelFault(label)
    if (code) return { code, label }
  }
  return undefined
}

export interface HostPort {
  readonly host: string
  readonly port: number
}

/** Splits `host:port`, with an IPv6 host in brackets; undefined when it is not one. */
export function parseHostPort(text: string): HostPort | undefined {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]/\s@]+):(\d{1,5})$/.exec(text)
  if (!match?.[1] || !match[2]) return undefined
  return { host: match[1], port: Number(match[2]) }
}

/** Whether a host is this machine. An IPv6 address may be in brackets. */
export const isLoopbackHost = (host: string): boolean =>
  /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i.test(host)

/** Whether `name` is below the wildcard's base, at any depth. */
export const covers = (pattern: string, name: string): boolean =>
  pattern === name || (pattern.startsWith('*.') && name.endsWith(pattern.slice(1)))

/** The wildcards that cover a name, nearest first: `*.b.example.com`, `*.example.com`, `*.com`. */
export function* wildcardsOver(name: string): Generator<string> {
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) yield `*${name.slice(dot)}`
}
