import { module } from '#contract/kind.ts'

export const compression = module({
  name: 'compression',
  doc: 'Compresses answers for visitors that accept it.',
  fields: {},
})
