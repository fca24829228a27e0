import { requireUse } from '#api/authority.ts'
import type { Call } from '#api/call.ts'
import { fail } from '#base/errors.ts'
import { isId } from '#base/ids.ts'
import type { ResourceReference } from '#contract/body.ts'
import { hasPrefixOf } from '#contract/kind.ts'
import { kindNamed } from '#contract/kinds/index.ts'

/**
 * Rejects ids of unknown resources, of the wrong kind, or of another owner. `before` are existing references: an admin
 * may have set them.
 */
export async function checkReferences(
  mentions: readonly ResourceReference[],
  call: Call,
  before: ReadonlySet<string> = new Set(),
): Promise<void> {
  if (mentions.length === 0) return
  const rows = await call.store.getMany([...new Set(mentions.map(mention => mention.id))])
  const byId = new Map(rows.map(row => [row.id, row]))
  for (const { id, field, target } of mentions) {
    const wanted = { field, id: id.slice(0, 100), kinds: target.kinds.join(', ') }
    if (id === '') fail('reference_empty', wanted)
    if (!hasPrefixOfAny(target.kinds, id)) fail(target.wrong as 'bad_reference', wanted)
    const row = byId.get(id) ?? fail(target.missing as 'reference_missing', wanted)
    if (!target.kinds.includes(row.kind)) fail(target.wrong as 'bad_reference', wanted)
    if (!before.has(id)) requireUse(row, { field, value: id }, call)
  }
}

const hasPrefixOfAny = (kinds: readonly string[], id: string): boolean =>
  isId(id) && kinds.some(name => hasPrefixOf(kindNamed(name), id))
