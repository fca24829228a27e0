import type { eventTarget } from '#contract/kinds/event-target.ts'
import type { Kept } from '#contract/shape.ts'

/** A stored target, with its secrets decrypted. */
export type EventTarget = Kept<typeof eventTarget>

export type TargetOf<Name extends keyof EventTarget> = NonNullable<EventTarget[Name]>
