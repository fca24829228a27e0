import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { kinds } from '#contract/kinds/index.ts'
import type { Kind } from '#contract/kind.ts'
import { info } from '../agents/support.ts'
import { modulesFor } from '../module-parts.ts'

/** Declared, so that clients get a clear error. */
const unsupported = new Set(['policy', 'traffic_policy'])

/** Incomplete options cause other errors. */
const problemOf = (build: () => unknown): string => {
  try {
    build()
    return ''
  } catch (error) {
    return String(error)
  }
}

suite('every module of the contract', () => {
  const modules = modulesFor(info)
  for (const kind of Object.values<Kind>(kinds)) {
    for (const name of Object.keys(kind.modules).filter(each => !unsupported.has(each))) {
      test(`is served: ${name} of ${kind.name}`, () => {
        const body = { [name]: { enabled: true } }
        const row = { id: 'x_1', kind: kind.name, parent: null, version: 1, body, readable: true }
        const problem = problemOf(() => modules.build({ rows: [row] }, { id: row.id }))
        assert.doesNotMatch(problem, /does not have it/)
      })
    }
  }
})
