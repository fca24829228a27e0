import { type HeaderPhase, untouchableHeaders } from '#contract/header-rules.ts'
import { type Filled, template } from '#gateway/modules/variables.ts'

const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]{1,255}$/
/** Allowed in values: visible characters, blanks, and non-ASCII bytes. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const HOST = /^(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i

/** Headers to add and to remove, checked; names are in lower case. */
export interface HeaderChange {
  readonly added: readonly { readonly name: string; readonly value: string | Filled }[]
  readonly removed: readonly string[]
}

/** The same as given. */
interface WantedChange {
  readonly added: readonly (readonly [name: string, value: string])[]
  readonly removed: readonly string[]
}

/** Reports why a change is invalid. */
export type RefuseChange = (reason: string) => never

/** Checks a change of headers and compiles its values. */
export function checkedChange(
  { added, removed }: WantedChange,
  phase: HeaderPhase,
  refuse: RefuseChange,
): HeaderChange {
  for (const name of removed) checkName(name, refuse)
  const compiled = added.map(([name, value]) => {
    checkName(name, refuse)
    if (!VALUE.test(value)) refuse(`the value of "${name}" has a character that is not allowed in headers`)
    return { name, value: template(value, phase) ?? refuse(`"${value}" has an unknown variable`) }
  })
  const change = { added: compiled, removed }
  checkHost(change, phase, refuse)
  return change
}

function checkName(name: string, refuse: RefuseChange): void {
  if (!TOKEN.test(name)) refuse(`"${name}" is not a header name`)
  if (untouchableHeaders.has(name)) refuse(`"${name}" is set only by the gateway`)
}

function checkHost({ added, removed }: HeaderChange, phase: HeaderPhase, refuse: RefuseChange): void {
  const hosts = added.filter(({ name }) => name === 'host')
  const [host] = hosts
  if (phase === 'response' && (host || removed.includes('host'))) refuse('a response has no "host"')
  if (hosts.length > 1) refuse('a request has one "host"')
  if (host && typeof host.value !== 'string') refuse('a "host" cannot have variables')
  if (host && typeof host.value === 'string' && !HOST.test(host.value))
    refuse(`"${host.value}" is not a host`)
  if (!host && removed.includes('host')) refuse('"host" can be removed only if another is added')
}
