import type { Call } from '#api/call.ts'
import type { Draft } from '#api/draft.ts'
import { checkReferences } from '#api/references.ts'
import { fail } from '#base/errors.ts'
import { ownerIn } from '#contract/access-rule.ts'
import { owners } from '#contract/targets.ts'

const FIELD = 'owner_id'

/** Sets the owner of a new resource: the caller, unless the request names another one or shares it. */
export async function settleOwner({ kind, body, before, given }: Draft, call: Call): Promise<void> {
  if (!kind.shape[FIELD]) return
  const { principal } = call
  // Keys and credentials always have an owner.
  const isNamed = given[FIELD] !== undefined && !(kind.owned && given[FIELD] === '')
  if (!before && !isNamed) body[FIELD] = principal.id
  const owner = ownerIn(body)
  if (owner === '' || owner === principal.id || (before && owner === ownerIn(before))) return
  if (principal.role !== 'admin') fail('not_allowed', { field: FIELD, action: 'name another owner' })
  await checkReferences([{ id: owner, field: FIELD, target: owners }], call)
}
