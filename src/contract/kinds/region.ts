import type { ErrorName } from '#base/errors.ts'
import { also, oneOf } from '#contract/schema.ts'
import { input } from '#contract/shape.ts'

/** The region identifiers of the base specification. */
export const regions = ['au', 'eu', 'ap', 'us', 'jp', 'in', 'sa'] as const

export const regionField = (refusal: ErrorName) =>
  input(also(oneOf(...regions), { default: 'us', refusal }), 'Region identifier.')
