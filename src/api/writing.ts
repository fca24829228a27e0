import { requireChange, requireChangeOfParent } from '#api/authority.ts'
import type { StoredResource } from '#api/resource-hooks.ts'
import { hooksOf } from '#api/behaviours/index.ts'
import type { Call } from '#api/call.ts'
import { Draft } from '#api/draft.ts'
import { eventOf } from '#api/events.ts'
import { checkModules } from '#api/modules/index.ts'
import { find, requireParent, type ResourcePath } from '#api/records.ts'
import { serialize } from '#api/row-text.ts'
import { show } from '#api/showing.ts'
import { checkReferences } from '#api/references.ts'
import { throwUnlessRetryable } from '#api/refusals.ts'
import { changeQueue } from '#api/change-queue.ts'
import { fail } from '#base/errors.ts'
import { newId, timestamp } from '#base/ids.ts'
import { ownerIn } from '#contract/access-rule.ts'
import { decode, references, type ResourceBody } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import { owners } from '#contract/targets.ts'
import { CONFLICT, retryOnConflict } from '#store/optimistic.ts'
import type { Write } from '#store/store.ts'

export function create(
  kind: Kind,
  given: ResourceBody,
  parent: string | null,
  call: Call,
): Promise<ResourceBody> {
  const attempt = async (): Promise<ResourceBody | typeof CONFLICT> => {
    await requireParent(kind, parent, call)
    const id = newId(kind.prefix ?? '', call.now())
    const body: ResourceBody = { ...decode(kind.shape, given), id, created_at: timestamp(call.now()) }
    if (kind.parent) body[kind.parent.param] = parent
    await requireChangeOfParent(kind, body, call)
    const draft = new Draft({ kind, id, body, given, parent })
    if (!(await write(draft, 1, call))) return CONFLICT
    return show(kind, { ...draft.body, ...draft.revealed }, call)
  }
  return retryOnConflict(attempt, () => fail('conflict'))
}

/** The result of a change: the new body, and the fields that the caller gave. */
interface Next {
  readonly body: ResourceBody
  readonly given: ResourceBody
}

/** Reads a resource, applies a change, and writes it; retried on a conflict. */
export function change(
  address: ResourcePath,
  call: Call,
  apply: (record: StoredResource) => Next,
): Promise<ResourceBody> {
  const { kind, id } = address
  const attempt = async (): Promise<ResourceBody | typeof CONFLICT> => {
    const record = await find(address, call)
    await requireChange(kind, record.body, call)
    const draft = new Draft({ kind, id, before: record.body, parent: record.row.parent, ...apply(record) })
    return (await write(draft, record.row.version + 1, call)) ? draft.body : CONFLICT
  }
  return changeQueue.run(id, () => retryOnConflict(attempt, () => fail('conflict')))
}

export async function update(address: ResourcePath, given: ResourceBody, call: Call): Promise<ResourceBody> {
  const { kind } = address
  const changed = await change(address, call, ({ body }) => ({
    body: { ...body, ...decode(kind.shape, given, body) },
    given,
  }))
  return show(kind, changed, call)
}

export async function replaceModule(
  address: ResourcePath,
  name: string,
  given: ResourceBody,
  call: Call,
): Promise<ResourceBody> {
  const view = await update(address, { [name]: given }, call)
  return view[name] as ResourceBody
}

/** An unset module is already removed: removing it again is not an error. */
export async function removeModule(address: ResourcePath, name: string, call: Call): Promise<void> {
  await change(address, call, ({ body }) => ({ body: { ...body, [name]: null }, given: {} }))
}

/** Checks a draft and commits it with its event; false when it must be retried on fresh data. */
async function write(draft: Draft, version: number, call: Call): Promise<boolean> {
  const { kind, id, body } = draft
  await settleOwner(draft, call)
  await checkModules(draft, call)
  await hooksOf(kind).prepare?.(draft, call)
  const named = references(kind.shape, body)
  const before = draft.before ? references(kind.shape, draft.before).map(mention => mention.id) : []
  await checkReferences(named, call, new Set(before))
  const parent = kind.belongsTo ? String(body[kind.belongsTo.field]) : draft.parent
  const row = { id, kind: kind.name, parent, version, body: serialize(kind, id, body, call) }
  const refs = [...new Set([...named.map(mention => mention.id), ...draft.holds])]
  const batch: Write[] = [
    ...[...draft.reliedOn.values()].map(read => ({
      op: 'expect' as const,
      id: read.id,
      version: read.version,
    })),
    { op: version === 1 ? 'insert' : 'update', entry: { row, refs, claims: draft.claims } },
    ...(await eventOf(kind, body, version === 1 ? 'created' : 'updated', call)),
  ]
  const outcome = await call.store.commit(batch)
  if (!outcome.ok) await throwUnlessRetryable(outcome.refusal, kind, call, { claims: draft.claims, named })
  return outcome.ok
}

/** Sets the owner of a new resource: the caller, unless the request names another one or shares it. */
async function settleOwner({ kind, body, before, given }: Draft, call: Call): Promise<void> {
  if (!kind.shape['owner_id']) return
  const { principal } = call
  // Keys and credentials always have an owner.
  const isNamed = given['owner_id'] !== undefined && !(kind.owned && given['owner_id'] === '')
  if (!before && !isNamed) body['owner_id'] = principal.id
  const owner = ownerIn(body)
  if (owner === '' || owner === principal.id || (before && owner === ownerIn(before))) return
  if (principal.role !== 'admin') fail('not_allowed', { field: 'owner_id', action: 'name another owner' })
  await checkReferences([{ id: owner, field: 'owner_id', target: owners }], call)
}
