import { domainToUnicode } from 'node:url'
import type { ErrorName } from '#base/errors.ts'

/** Why a name is not a valid host name: the catalogue entry and the invalid label. */
interface NameFault {
  readonly code: ErrorName & `domain_${string}`
  readonly label: string
}

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
