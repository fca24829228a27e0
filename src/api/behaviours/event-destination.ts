import type { ResourceHooks } from '#api/resource-hooks.ts'
import { fail } from '#base/errors.ts'
import { eventDestination as kind } from '#contract/kinds/events.ts'
import { eventTarget, targetChecks } from '#contract/kinds/event-target.ts'
import type { Stored } from '#contract/shape.ts'

type DestinationTarget = Stored<typeof eventTarget>

/** The given target type. */
function kindOf(target: DestinationTarget): keyof DestinationTarget {
  const given = Object.entries(target).flatMap(([name, value]) => (value === null ? [] : [name]))
  const [first, second] = given
  const field = 'target'
  if (first === undefined)
    return fail('target_none', { field, supported: Object.keys(eventTarget).join(', ') })
  if (second !== undefined) fail('target_several', { field, given: given.join(', ') })
  return first as keyof DestinationTarget
}

export const eventDestination: ResourceHooks = {
  prepare(draft) {
    const { target } = draft.as(kind)
    const now = kindOf(target)
    if (draft.before) {
      const was = kindOf(draft.before['target'] as DestinationTarget)
      if (was !== now) fail('target_type_fixed', { field: 'target', was, now })
    }
    const check = targetChecks[now] as (target: unknown) => void
    check(target[now])
  },
  commands: { test: ({ row }, call) => call.live.command(row.id, 'test') },
}
