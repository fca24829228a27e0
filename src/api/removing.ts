import { requireChange } from '#api/authority.ts'
import type { StoredResource } from '#api/resource-hooks.ts'
import { hooksOf } from '#api/behaviours/index.ts'
import type { Call } from '#api/call.ts'
import { eventOf } from '#api/events.ts'
import { childRows, find, deserialize, type ResourcePath } from '#api/records.ts'
import { throwUnlessRetryable } from '#api/refusals.ts'
import { changeQueue } from '#api/change-queue.ts'
import { fail } from '#base/errors.ts'
import type { Kind } from '#contract/kind.ts'
import { childrenOf } from '#contract/kinds/index.ts'
import { CONFLICT, retryOnConflict } from '#store/optimistic.ts'
import type { Write } from '#store/store.ts'

/** Deletes a resource and its children. */
export const remove = (address: ResourcePath, call: Call): Promise<void> =>
  changeQueue.run(address.id, () =>
    retryOnConflict(
      () => tryToRemove(address, call),
      () => fail('conflict'),
    ),
  )

async function tryToRemove(address: ResourcePath, call: Call): Promise<void | typeof CONFLICT> {
  const record = await find(address, call)
  await requireChange(address.kind, record.body, call)
  const reliedOn = (await hooksOf(address.kind).remove?.(record, call)) ?? []
  const expected = reliedOn.map(({ id, version }): Write => ({ op: 'expect', id, version }))
  const outcome = await call.store.commit([...expected, ...(await removal(address.kind, record, call))])
  if (outcome.ok) return undefined
  await throwUnlessRetryable(outcome.refusal, address.kind, call)
  return CONFLICT
}

/** The writes that delete a resource, children first. */
async function removal(kind: Kind, { row, body }: StoredResource, call: Call): Promise<Write[]> {
  const writes: Write[] = []
  for (const child of childrenOf(kind.name)) {
    for (const childRow of await childRows(child.name, row.id, call)) {
      writes.push(
        ...(await removal(child, { row: childRow, body: deserialize(child, childRow, call) }, call)),
      )
    }
  }
  const event = await eventOf(kind, body, 'deleted', call)
  return [...writes, { op: 'remove', id: row.id, version: row.version }, ...event]
}
