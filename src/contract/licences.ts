import { line, listOf, object, text, type Static } from '#contract/schema.ts'

/** The packages of others that a server contains. */
export const licences = object({
  licences: listOf(object({ name: line(), version: line(), licence: line(), text: text() })),
})

export type Licences = Static<typeof licences>
