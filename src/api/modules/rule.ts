import type { Call } from '#api/call.ts'
import type { ResourceBody } from '#contract/body.ts'

/** Completes a module's new configuration and rejects what its schema cannot express. */
export type ModuleRule = (
  module: ResourceBody,
  context: { readonly before: ResourceBody | undefined; readonly call: Call; readonly owner: string },
) => Promise<void> | void
