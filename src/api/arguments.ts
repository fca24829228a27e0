import type { Call } from '#api/call.ts'
import type { ResourceBody } from '#contract/body.ts'

/** The arguments from path, query and body. */
export interface Arguments {
  readonly id: string
  readonly parent: string | null
  readonly query: Map<string, string>
  readonly body: ResourceBody
}

/** Runs an operation; resolves to the response body, which may already be JSON text, or to nothing. */
export type Operate = (given: Arguments, call: Call) => Promise<ResourceBody | string | undefined>
