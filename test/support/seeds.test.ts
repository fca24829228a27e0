import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Kind } from '#contract/kind.ts'
import { kinds } from '#contract/kinds/index.ts'
import { creatable } from './seeds.ts'

test('every kind that a caller can create has a seed, or the suites that loop over them would leave it out', () => {
  const made = Object.entries<Kind>(kinds).filter(([, { verbs }]) => verbs.includes('create'))
  assert.deepEqual(made.map(([collection]) => collection).toSorted(), creatable.toSorted())
})
