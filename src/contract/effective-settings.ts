import { also, boolean, line, listOf, nullable, object, oneOf, text, type Static } from '#contract/schema.ts'

const setting = object({
  name: line(),
  value: also(nullable(text()), { description: 'As text; null if it is not set. Secrets read [masked].' }),
  source: also(nullable(oneOf('flag', 'environment', 'file', 'default')), {
    description: 'Where the value comes from; null if it is not set.',
  }),
  origin: also(nullable(line()), { description: 'The flag, the variable, or the key in a file.' }),
  default: nullable(text()),
  reloadable: also(boolean(), { description: 'A reload applies a new value; others need a restart.' }),
  doc: line(),
})

/** The settings that a server uses. */
export const effectiveSettings = object({ settings: listOf(setting) })

export type EffectiveSettings = Static<typeof effectiveSettings>
