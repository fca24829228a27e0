import type { ErrorName } from '#base/errors.ts'
import type { parties } from '#contract/kinds/request.ts'

type Party = (typeof parties)[number]

/** The responsible party of gateway errors that are not the client's. */
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

/** Whether it failed, and not because of the client. */
export function isFailure(status: number, refusal: ErrorName | undefined): boolean {
  const party = responsibleParty(status, refusal)
  return party !== undefined && party !== 'visitor'
}

/** The responsible party of an error; undefined when nothing failed. */
export function responsibleParty(status: number, refusal: ErrorName | undefined): Party | undefined {
  if (status < 400) return undefined
  // An error response of the service, forwarded unchanged.
  if (refusal === undefined) return status < 500 ? 'visitor' : 'upstream'
  return others[refusal] ?? (status < 500 ? 'visitor' : 'edge')
}
