import type { ErrorName } from '#base/errors.ts'
import type { parties } from '#contract/kinds/request.ts'

type Party = (typeof parties)[number]

/** On whose side it failed, for answers of the gateway that are not about the visitor. */
const others: Readonly<Partial<Record<ErrorName, Party>>> = {
  endpoint_offline: 'tunnel',
  backend_empty: 'tunnel',
  agent_gone: 'agent',
  agent_busy: 'agent',
  upstream_unreachable: 'upstream',
  upstream_closed: 'upstream',
  upstream_invalid: 'upstream',
  upstream_timeout: 'upstream',
  circuit_open: 'upstream',
}

/** Who has to act so that the same request is answered; undefined when nothing failed. */
export function failedParty(status: number, refusal: ErrorName | undefined): Party | undefined {
  if (status < 400) return undefined
  // An error of the service itself passed through us unchanged.
  if (refusal === undefined) return status < 500 ? 'visitor' : 'upstream'
  return others[refusal] ?? (status < 500 ? 'visitor' : 'edge')
}
