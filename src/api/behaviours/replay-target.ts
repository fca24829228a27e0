import { ownerOfEndpoint } from '#api/authority.ts'
import type { Call } from '#api/call.ts'
import type { ReplayOrder } from '#contract/request-history.ts'
import { fail } from '#base/errors.ts'
import { allows } from '#contract/access-rule.ts'
import { endpoint as endpointKind } from '#contract/kinds/live.ts'
import type { replayEdits } from '#contract/kinds/request-capture.ts'
import type { Create } from '#contract/shape.ts'

type Target = Pick<ReplayOrder, 'endpoint' | 'tunnelId' | 'memberId'>

/** Where a request is sent again: to its own endpoint, or to another one that the caller may use so. */
export async function replayTarget(given: Create<typeof replayEdits>, call: Call): Promise<Target> {
  const { endpoint_id: endpoint, tunnel_id: tunnel } = given
  const { principal } = call
  const member = principal.role === 'admin' ? {} : { memberId: principal.id }
  if (endpoint !== undefined && tunnel !== undefined)
    fail('replay_target', { field: 'tunnel_id', value: tunnel, reason: 'endpoint_id names another target' })
  if (endpoint !== undefined) return { ...member, endpoint: await endpointFor(endpoint, call) }
  if (tunnel !== undefined) return { ...member, tunnelId: await tunnelFor(tunnel, call) }
  return member
}

async function endpointFor(id: string, call: Call): Promise<NonNullable<Target['endpoint']>> {
  const refuse = (reason: string): never =>
    fail('replay_target', { field: 'endpoint_id', value: id.slice(0, 100), reason })
  const found = (await call.live.get('endpoint', id)) ?? refuse('there is no such endpoint online')
  await requireOwn({ edge: found['edge'], endpoint: id }, call)
  const { proto, public_url: url } = found
  if (proto !== 'http' && proto !== 'https') return refuse('it is not for HTTP')
  const authority = /^https?:\/\/([^/]+)/.exec(String(url))?.[1] ?? ''
  return authority.startsWith('*') ? refuse('it is a wildcard') : { scheme: proto, authority }
}

async function tunnelFor(id: string, call: Call): Promise<string> {
  const refuse = (reason: string): never =>
    fail('replay_target', { field: 'tunnel_id', value: id.slice(0, 100), reason })
  const found = (await call.live.get('tunnel', id)) ?? refuse('there is no such tunnel online')
  await requireOwn({ endpoint: id }, call)
  const { proto } = found
  // A tunnel with labels has none: its edge decides.
  return proto === 'tcp' || proto === 'tls' ? refuse('it is not for HTTP') : id
}

async function requireOwn(at: { edge?: unknown; endpoint: string }, call: Call): Promise<void> {
  if (!allows(call.principal, 'secrets', endpointKind, await ownerOfEndpoint(at, call)))
    fail('replay_not_owned')
}
