import type { Call } from '#api/call.ts'
import { fail } from '#base/errors.ts'
import { isId } from '#base/ids.ts'
import type { Mention } from '#contract/body.ts'
import { kindNamed } from '#contract/kinds/index.ts'

/** Refuses ids that name nothing, or something of the wrong kind. */
export async function checkReferences(mentions: readonly Mention[], call: Call): Promise<void> {
  if (mentions.length === 0) return
  const rows = await call.store.getMany([...new Set(mentions.map(mention => mention.id))])
  const kinds = new Map(rows.map(row => [row.id, row.kind]))
  for (const { id, field, target } of mentions) {
    const wanted = { field, id: id.slice(0, 100), kinds: target.kinds.join(', ') }
    if (id === '') fail('reference_empty', wanted)
    if (!hasPrefixOf(id, target.kinds)) fail(target.wrong as 'bad_reference', wanted)
    const kind = kinds.get(id)
    if (kind === undefined) fail(target.missing as 'reference_missing', wanted)
    else if (!target.kinds.includes(kind)) fail(target.wrong as 'bad_reference', wanted)
  }
}

const hasPrefixOf = (id: string, kinds: readonly string[]): boolean =>
  isId(id) && kinds.some(name => id.startsWith(`${kindNamed(name).prefix}_`))
