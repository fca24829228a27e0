import { requireChange, requireChangeOfParent } from '#api/authority.ts'
import type { Record } from '#api/behaviour.ts'
import { behaviourOf } from '#api/behaviours/index.ts'
import type { Call } from '#api/call.ts'
import { Draft } from '#api/draft.ts'
import { eventOf } from '#api/events.ts'
import { checkModules } from '#api/modules/index.ts'
import { settleOwner } from '#api/ownership.ts'
import { find, requireParent, type Address } from '#api/records.ts'
import { close } from '#api/row-text.ts'
import { show } from '#api/showing.ts'
import { checkReferences } from '#api/references.ts'
import { explain } from '#api/refusals.ts'
import { inTurn } from '#api/turns.ts'
import { fail } from '#base/errors.ts'
import { newId, timestamp } from '#base/ids.ts'
import { decode, mentions, type Body } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import type { Write } from '#store/store.ts'

/** How often a conflicting change is retried. */
export const ATTEMPTS = 8

export async function create(kind: Kind, given: Body, parent: string | null, call: Call): Promise<Body> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    await requireParent(kind, parent, call)
    const id = newId(kind.prefix ?? '', call.now())
    const body: Body = { ...decode(kind.shape, given), id, created_at: timestamp(call.now()) }
    if (kind.parent) body[kind.parent.param] = parent
    await requireChangeOfParent(kind, body, call)
    const draft = new Draft({ kind, id, body, given, parent })
    if (await write(draft, 1, call)) return show(kind, { ...draft.body, ...draft.revealed }, call)
  }
  return fail('conflict')
}

/** The result of a change: the new body, and the fields that the caller gave. */
export interface Next {
  readonly body: Body
  readonly given: Body
}

/** Reads a resource, applies a change, and writes it; retried on a conflict. */
export function change(address: Address, call: Call, apply: (record: Record) => Next): Promise<Body> {
  return inTurn(address.id, () => tryToChange(address, call, apply))
}

async function tryToChange(address: Address, call: Call, apply: (record: Record) => Next): Promise<Body> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const record = await find(address, call)
    const { kind, id } = address
    await requireChange(kind, record.body, call)
    const draft = new Draft({ kind, id, before: record.body, parent: record.row.parent, ...apply(record) })
    if (await write(draft, record.row.version + 1, call)) return draft.body
  }
  return fail('conflict')
}

export async function update(address: Address, given: Body, call: Call): Promise<Body> {
  const { kind } = address
  const changed = await change(address, call, ({ body }) => ({
    body: { ...body, ...decode(kind.shape, given, body) },
    given,
  }))
  return show(kind, changed, call)
}

export async function replaceModule(address: Address, name: string, given: Body, call: Call): Promise<Body> {
  const view = await update(address, { [name]: given }, call)
  return view[name] as Body
}

/** An unset module is already removed: removing it again is not an error. */
export async function removeModule(address: Address, name: string, call: Call): Promise<void> {
  await change(address, call, ({ body }) => ({ body: { ...body, [name]: null }, given: {} }))
}

/** Checks a draft and commits it with its event; false when it must be retried on fresh data. */
async function write(draft: Draft, version: number, call: Call): Promise<boolean> {
  const { kind, id, body } = draft
  await settleOwner(draft, call)
  await checkModules(draft, call)
  await behaviourOf(kind).prepare?.(draft, call)
  const named = mentions(kind.shape, body)
  const before = draft.before ? mentions(kind.shape, draft.before).map(mention => mention.id) : []
  await checkReferences(named, call, new Set(before))
  const parent = kind.belongsTo ? String(body[kind.belongsTo.field]) : draft.parent
  const row = { id, kind: kind.name, parent, version, body: close(kind, id, body, call) }
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
  return outcome.ok || explain(outcome.refusal, kind, call, { claims: draft.claims, named })
}
