import type { ModuleRule } from '#api/modules/rule.ts'
import { fail } from '#base/errors.ts'
import { type HeaderPhase, untouchableHeaders, valueParts } from '#contract/header-rules.ts'
import type { requestHeaders } from '#contract/modules/headers.ts'
import type { Stored } from '#contract/shape.ts'

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,255}$/

/** Header names in lower case, each valid and unique. */
function headerNames(field: string, names: readonly string[]): string[] {
  const seen = new Set<string>()
  for (const name of names) {
    if (!TOKEN.test(name)) fail('edge_header_name', { field, name })
    const lower = name.toLowerCase()
    if (untouchableHeaders.has(lower)) fail('header_framing', { field, name })
    if (seen.has(lower)) fail('header_twice', { field, name })
    seen.add(lower)
  }
  return [...seen]
}

/** A map of headers with its names in lower case. */
export function headerMap(field: string, headers: Readonly<Record<string, string>>): Record<string, string> {
  const values = Object.values(headers)
  return Object.fromEntries(
    headerNames(field, Object.keys(headers)).map((name, index) => [name, values[index] ?? '']),
  )
}

const checkHeaders = (module: Parameters<ModuleRule>[0], phase: HeaderPhase): void => {
  const headers = module as Stored<typeof requestHeaders.shape>
  headers.add = headerMap('add', headers.add)
  headers.remove = headerNames('remove', headers.remove)
  const named = { add: Object.keys(headers.add), remove: headers.remove }
  for (const [field, names] of Object.entries(named)) {
    if (names.includes('user-agent')) fail('fixed_header', { field, name: 'user-agent' })
  }
  if (phase === 'response' && [...named.add, ...named.remove].includes('host')) fail('response_host')
  if (named.remove.includes('host') && !named.add.includes('host')) fail('host_header', { field: 'remove' })
  for (const [name, value] of Object.entries(headers.add))
    if (valueParts(value, phase) === undefined) fail('header_variable', { name, value })
}

export const checkRequestHeaders: ModuleRule = module => checkHeaders(module, 'request')
export const checkResponseHeaders: ModuleRule = module => checkHeaders(module, 'response')
