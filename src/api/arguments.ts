import type { Call } from '#api/call.ts'
import type { Body } from '#contract/body.ts'

/** What a path, a query and a body say. */
export interface Arguments {
  readonly id: string
  readonly parent: string | null
  readonly query: Map<string, string>
  readonly body: Body
}

/** Carries out an operation; resolves to the body of the answer, which may be JSON text already, or to nothing. */
export type Operate = (given: Arguments, call: Call) => Promise<Body | string | undefined>
