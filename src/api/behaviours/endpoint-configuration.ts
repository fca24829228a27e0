import type { ResourceHooks } from '#api/resource-hooks.ts'
import { samlView } from '#api/behaviours/sign-in.ts'
import { fail } from '#base/errors.ts'
import { endpointConfiguration as kind } from '#contract/kinds/endpoint-configuration.ts'

/** Modules that need more than a TCP connection, and those that need TLS. */
const tcpModules = ['ip_policy', 'mutual_tls', 'tls_termination', 'backend']
const tlsModules = ['mutual_tls', 'tls_termination']

function applies(type: string, module: string): boolean {
  if (type === 'tcp') return tcpModules.includes(module)
  return type === 'https' || !tlsModules.includes(module)
}

export const endpointConfiguration: ResourceHooks = {
  prepare(draft) {
    const { type } = draft.as(kind)
    for (const name of Object.keys(kind.modules)) {
      if (draft.body[name] && !applies(type, name)) {
        fail('module_not_here', { field: name, what: `endpoint configurations of type ${type}` })
      }
    }
  },
  view: async (body, call) => samlView(body, call),
}
