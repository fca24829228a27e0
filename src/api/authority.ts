import type { Call } from '#api/call.ts'
import { childRows } from '#api/records.ts'
import { fail } from '#base/errors.ts'
import { randomPart } from '#base/ids.ts'
import { allows, ownerIn, type Right } from '#contract/access-rule.ts'
import type { ResourceBody } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import { applicationSession, applicationUser } from '#contract/kinds/application.ts'
import { kindNamed } from '#contract/kinds/index.ts'
import { tunnelSession } from '#contract/kinds/live.ts'
import type { Row } from '#store/store.ts'

/** The owner of what belongs to no member, so that only admins may change it. */
const NO_MEMBER = '-'

const bodyOf = (row: { readonly body: string }): ResourceBody => JSON.parse(row.body) as ResourceBody

async function ownerOfId(id: unknown, call: Call): Promise<string> {
  const row = typeof id === 'string' && id !== '' ? await call.store.get(id) : undefined
  return row === undefined ? NO_MEMBER : ownerIn(bodyOf(row))
}

/** The owner of an agent's credential. */
const ownerOfAgent = (session: ResourceBody | undefined, call: Call): Promise<string> =>
  ownerOfId(session?.['credential'], call)

/** The owner of an edge, or of the agent of an endpoint or tunnel. */
export async function ownerOfEndpoint(body: ResourceBody, call: Call): Promise<string> {
  if (typeof body['edge'] === 'string') return ownerOfId(body['edge'], call)
  if (typeof body['endpoint'] !== 'string') return NO_MEMBER
  const tunnel = await call.live.get('tunnel', `tn_${randomPart(body['endpoint'])}`)
  return ownerOfAgent(await call.live.get('tunnel_session', String(tunnel?.['tunnel_session'])), call)
}

/** An application user belongs to the owner of all endpoints where they are signed in. */
async function ownerOfApplicationUser(body: ResourceBody, call: Call): Promise<string> {
  const rows = await childRows(applicationSession.name, String(body['id']), call)
  const owners = new Set<string>()
  for (const row of rows) owners.add(await ownerOfEndpoint(bodyOf(row), call))
  const [owner = ''] = owners
  return owners.size > 1 ? NO_MEMBER : owner
}

/** The owner of a resource; a part of another one has that owner. */
export async function ownerOf(kind: Kind, body: ResourceBody, call: Call): Promise<string> {
  if (kind.name === applicationSession.name) return ownerOfEndpoint(body, call)
  if (kind.name === applicationUser.name) return ownerOfApplicationUser(body, call)
  if (kind.name === tunnelSession.name) return ownerOfAgent(body, call)
  if (kind.name === 'event_delivery') return ownerOfId(body['subscription'], call)
  if (kind.parent) return ownerOfId(body[kind.parent.param], call)
  if (kind.belongsTo && !kind.owned) return ownerOfId(body[kind.belongsTo.field], call)
  return ownerIn(body)
}

export async function may(right: Right, kind: Kind, body: ResourceBody, call: Call): Promise<boolean> {
  const { principal } = call
  return principal.role === 'admin' || allows(principal, right, kind, await ownerOf(kind, body, call))
}

/** Rejects a change of another owner's resource. */
export async function requireChange(kind: Kind, body: ResourceBody, call: Call): Promise<void> {
  if (await may('change', kind, body, call)) return
  fail('not_owner', { what: kind.name.replaceAll('_', ' ') })
}

/** Rejects a new part of another owner's resource, such as a route of its edge. */
export async function requireChangeOfParent(kind: Kind, body: ResourceBody, call: Call): Promise<void> {
  if (call.principal.role === 'admin' || kind.owned) return
  const id = kind.parent ? body[kind.parent.param] : kind.belongsTo && body[kind.belongsTo.field]
  const row = typeof id === 'string' ? await call.store.get(id) : undefined
  if (row) await requireChange(kindNamed(row.kind), bodyOf(row), call)
}

/** Rejects the use of another owner's name, address or resource; `value` is as the caller wrote it. */
export function requireUse(
  row: Pick<Row, 'id' | 'kind' | 'body'>,
  { field, value }: { readonly field: string; readonly value: string },
  { principal }: Call,
): void {
  // Keys and credentials refer to their owner.
  if (row.id === principal.id) return
  if (allows(principal, 'use', kindNamed(row.kind), ownerIn(bodyOf(row)))) return
  fail('use_not_allowed', { field, value })
}
