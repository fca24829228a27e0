import type { StoredResource } from '#api/resource-hooks.ts'
import type { Call } from '#api/call.ts'
import type { LiveKind } from '#api/live.ts'
import { fail } from '#base/errors.ts'
import { isId } from '#base/ids.ts'
import { allows } from '#contract/access-rule.ts'
import { hasMasked, hasSecrets, mapSecrets, type ResourceBody } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import type { Shape } from '#contract/shape.ts'
import { rowsOf } from '#store/rows-of.ts'
import type { Row } from '#store/store.ts'

/** One resource, as a path names it. */
export interface ResourcePath {
  readonly kind: Kind
  readonly id: string
  /** The id of the parent, if the path names one. */
  readonly parent: string | null
}

/** A property of a kind's shape, computed once. */
function fact(decide: (shape: Shape) => boolean): (kind: Kind) => boolean {
  const known = new WeakMap<Kind, boolean>()
  return kind => {
    const isSo = known.get(kind) ?? decide(kind.shape)
    known.set(kind, isSo)
    return isSo
  }
}

/** Whether this kind has encrypted fields. */
export const keepsSecrets = fact(hasSecrets)

/** Whether this kind has fields that are masked for some readers. */
export const isMasked = fact(hasMasked)

/** Parses a row's text and decrypts its secrets. */
export function deserialize(kind: Kind, row: Row, call: Pick<Call, 'sealer'>): ResourceBody {
  const body = JSON.parse(row.body) as ResourceBody
  return keepsSecrets(kind) ? mapSecrets(kind.shape, body, text => call.sealer.unseal(text, row.id)) : body
}

/** Rejects callers that may not use a kind at all. */
export function requireAccess(kind: Kind, call: Call): void {
  if (!allows(call.principal, 'read', kind, call.principal.id)) {
    fail('not_allowed', { action: `see or change ${kind.listKey.replaceAll('_', ' ')}` })
  }
}

/** The only parent whose resources the caller may see; null for no limit. */
export const ownerLimit = (kind: Kind, call: Call): string | null =>
  allows(call.principal, 'read', kind, '') ? null : call.principal.id

/** Finds the resource of a path, if the caller may see it. */
export async function findRow({ kind, id, parent }: ResourcePath, call: Call): Promise<Row> {
  const row = isId(id) ? await call.store.get(id) : undefined
  const within = kind.parent ? parent : ownerLimit(kind, call)
  return row?.kind === kind.name && (within === null || row.parent === within) ? row : fail('not_found')
}

/** The same, decrypted. */
export async function find(address: ResourcePath, call: Call): Promise<StoredResource> {
  const row = await findRow(address, call)
  return { row, body: deserialize(address.kind, row, call) }
}

/** Finds what is online, or kept as history. */
export const findLive = async (kind: LiveKind, id: string, { live }: Call): Promise<ResourceBody> =>
  (isId(id) ? await live.get(kind, id) : undefined) ?? fail('not_found')

/** Rejects a path whose parent does not exist. */
export async function requireParent(kind: Kind, parent: string | null, call: Call): Promise<void> {
  if (!kind.parent) return
  const row = parent !== null && isId(parent) ? await call.store.get(parent) : undefined
  if (row?.kind !== kind.parent.kind) fail('not_found')
}

/** Every row of a kind that belongs to one resource, newest first. */
export const childRows = (kind: string, parent: string, { store }: Pick<Call, 'store'>): Promise<Row[]> =>
  Array.fromAsync(rowsOf(store, kind, { parent }))
