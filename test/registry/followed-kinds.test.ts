import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import type { Kind } from '#contract/kind.ts'
import { childrenOf, kinds } from '#contract/kinds/index.ts'
import type { Shape } from '#contract/shape.ts'
import { Records } from '#registry/records/records.ts'

const all = Object.values<Kind>(kinds)

/** The kinds that fields of this shape refer to. */
const targetsOf = (shape: Shape): readonly string[] =>
  Object.values(shape).flatMap(({ target, shape: inner }) => [
    ...(target?.kinds ?? []),
    ...(inner ? targetsOf(inner) : []),
  ])

suite('the kinds that the gateway follows', () => {
  let followed: readonly string[] = []

  before(async () => {
    const watch = async (wanted: readonly string[]) => {
      followed = wanted
      return () => undefined
    }
    await new Records().follow({ watch, refresh: async () => undefined })
  })

  for (const { name, shape, followedByGateway } of all) {
    test(`${name} is ${followedByGateway ? 'among them, with all that it refers to' : 'not among them'}`, () => {
      assert.equal(followed.includes(name), followedByGateway === true)
      if (!followedByGateway) return
      const missing = targetsOf(shape).filter(target => !followed.includes(target))
      assert.deepEqual(missing, [], 'an endpoint that needs these would not be served')
    })
  }

  test('include the routes of edges and the rules of policies', () => {
    for (const parent of ['https_edge', 'ip_policy'])
      for (const { name } of childrenOf(parent)) assert.ok(followed.includes(name), name)
  })
})
