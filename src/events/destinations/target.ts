import type { eventTarget } from '#contract/kinds/event-target.ts'
import type { Stored } from '#contract/shape.ts'

/** A stored target, with its secrets decrypted. */
export type EventTarget = Stored<typeof eventTarget>

export type TargetOf<Name extends keyof EventTarget> = NonNullable<EventTarget[Name]>
