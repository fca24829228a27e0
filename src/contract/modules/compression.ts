import { module } from '#contract/kind.ts'

export const compression = module({
  name: 'compression',
  doc: 'Compresses responses for clients that accept it.',
  fields: {},
})
