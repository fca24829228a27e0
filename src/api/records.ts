import type { Record } from '#api/behaviour.ts'
import { behaviourOf } from '#api/behaviours/index.ts'
import type { Call } from '#api/call.ts'
import { inWrittenForm } from '#api/row-text.ts'
import { linker, resourcePath } from '#api/uris.ts'
import { fail } from '#base/errors.ts'
import { isId } from '#base/ids.ts'
import { encode, hasSecrets, mapSecrets, type Body } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import type { Row } from '#store/store.ts'

/** One resource, as a path names it. */
export interface Address {
  readonly kind: Kind
  readonly id: string
  /** The id of the resource it belongs to, where the path names one. */
  readonly parent: string | null
}

const secretive = new WeakMap<Kind, boolean>()

function keepsSecrets(kind: Kind): boolean {
  const known = secretive.get(kind)
  if (known !== undefined) return known
  const answer = hasSecrets(kind.shape)
  secretive.set(kind, answer)
  return answer
}

/** True when what callers see of a resource follows from its row alone and is the same for all of them. */
export const alwaysShowsTheSame = (kind: Kind): boolean =>
  !kind.live &&
  !kind.owned &&
  kind.key === 'id' &&
  !kind.parent &&
  !keepsSecrets(kind) &&
  !behaviourOf(kind).view

/** Reads a row's text and unseals its secrets. */
export function open(kind: Kind, row: Row, call: Pick<Call, 'sealer'>): Body {
  const body = JSON.parse(row.body) as Body
  return keepsSecrets(kind) ? mapSecrets(kind.shape, body, text => call.sealer.unseal(text, row.id)) : body
}

/** The text of a row, its secrets sealed. */
export function close(kind: Kind, id: string, body: Body, call: Pick<Call, 'sealer'>): string {
  if (keepsSecrets(kind))
    return JSON.stringify(mapSecrets(kind.shape, body, text => call.sealer.seal(text, id)))
  return JSON.stringify(inWrittenForm(kind, body))
}

/** What a caller sees of a resource. `body` is the caller's own copy. */
export async function show(
  kind: Kind,
  body: Body,
  call: Call,
  secrets: 'show' | 'mask' = 'show',
): Promise<Body> {
  const behaviour = behaviourOf(kind)
  const seen = behaviour.view ? { ...body, ...(await behaviour.view(body, call)) } : body
  seen['uri'] = call.base + resourcePath(kind, seen)
  return encode(kind.shape, seen, linker(call.base), secrets)
}

/** Refuses callers that may not use a kind at all. */
export function requireAccess(kind: Kind, call: Call): void {
  if (kind.adminOnly && call.principal.role !== 'admin') {
    fail('not_allowed', { action: `see or change ${kind.listKey.replaceAll('_', ' ')}` })
  }
}

/** The parent whose resources alone the caller may see; null for no such limit. */
export const ownerLimit = (kind: Kind, call: Call): string | null =>
  kind.owned && call.principal.role !== 'admin' ? call.principal.id : null

/** Finds what a path names, if the caller may see it. */
export async function findRow({ kind, id, parent }: Address, call: Call): Promise<Row> {
  const row = isId(id) ? await call.store.get(id) : undefined
  const within = kind.parent ? parent : ownerLimit(kind, call)
  return row?.kind === kind.name && (within === null || row.parent === within) ? row : fail('not_found')
}

/** The same, opened. */
export async function find(address: Address, call: Call): Promise<Record> {
  const row = await findRow(address, call)
  return { row, body: open(address.kind, row, call) }
}

/** Refuses a path whose outer resource does not exist. */
export async function requireParent(kind: Kind, parent: string | null, call: Call): Promise<void> {
  if (!kind.parent) return
  const row = parent !== null && isId(parent) ? await call.store.get(parent) : undefined
  if (row?.kind !== kind.parent.kind) fail('not_found')
}

/** Every row of a kind that belongs to one resource, newest first. */
export async function childRows(kind: string, parent: string, call: Pick<Call, 'store'>): Promise<Row[]> {
  const rows: Row[] = []
  for (;;) {
    const before = rows.at(-1)?.id
    const page = await call.store.list(kind, { parent, limit: 1000, ...(before !== undefined && { before }) })
    rows.push(...page)
    if (page.length < 1000) return rows
  }
}
