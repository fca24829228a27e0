import type { Call } from '#api/call.ts'
import type { Body } from '#contract/body.ts'

/** Completes a module's new configuration and rejects what its schema cannot express. */
export type ModuleRule = (
  module: Body,
  context: { readonly before: Body | undefined; readonly call: Call; readonly owner: string },
) => Promise<void> | void
