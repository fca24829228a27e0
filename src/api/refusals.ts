import { may } from '#api/authority.ts'
import type { Call } from '#api/call.ts'
import type { RefusableClaim } from '#api/draft.ts'
import { fail } from '#base/errors.ts'
import type { ResourceBody, ResourceReference } from '#contract/body.ts'
import { hasPrefixOf, type Kind } from '#contract/kind.ts'
import { childrenOf, kindNamed } from '#contract/kinds/index.ts'
import type { CommitRefusal } from '#store/store.ts'

/**
 * Throws the API error of a store refusal. Returns if it only means that another write was faster, and a retry on fresh
 * data may succeed.
 */
export async function throwUnlessRetryable(
  refusal: CommitRefusal,
  kind: Kind,
  call: Call,
  written: { claims: readonly RefusableClaim[]; named: readonly ResourceReference[] } = {
    claims: [],
    named: [],
  },
): Promise<void> {
  switch (refusal.reason) {
    case 'claimed': {
      const { namespace, value } = refusal.claim
      const claim = written.claims.find(each => each.namespace === namespace && each.value === value)
      if (!claim?.refusal) return
      const { field, shown } = claim
      return fail(claim.refusal as 'domain_taken', {
        field,
        value: shown,
        owner: await nameOf(refusal.owner, call),
      })
    }
    case 'missing': {
      const mention = written.named.find(each => each.id === refusal.target)
      if (!mention) return
      return fail(mention.target.missing as 'reference_missing', { field: mention.field, id: mention.id })
    }
    case 'in_use':
      // A child created after the deletion looked for children is deleted by the next attempt.
      if (childrenOf(kind.name).some(child => hasPrefixOf(child, refusal.by))) return
      return fail((kind.inUse ?? 'in_use') as 'in_use', { by: await nameOf(refusal.by, call) })
    case 'stale':
    case 'exists':
      return
  }
}

/** The id of a resource, unless it belongs to another owner: that is not disclosed. */
async function nameOf(id: string, call: Call): Promise<string> {
  const row = await call.store.get(id)
  const isOwn = row && (await may('change', kindNamed(row.kind), JSON.parse(row.body) as ResourceBody, call))
  return isOwn ? id : 'a resource of another owner'
}
