import fc, { type Arbitrary } from 'fast-check'
import type { ResourceBody } from '#contract/body.ts'
import { valid } from './fuzz-bodies.ts'
import type { Schema } from './fuzz-document.ts'
import { faultsOf } from './fuzz-faults.ts'

export interface Attempt {
  readonly what: string
  readonly body: unknown
}

/** Makes a body from one that the API is known to accept. */
export type Plan = (seed: ResourceBody) => Attempt

const bodies = (schema: Schema): Arbitrary<ResourceBody> => valid(schema).map(value => value as ResourceBody)

/** The seed with some optional fields set at random: mostly acceptable. */
const seeded = (schema: Schema): Arbitrary<(seed: ResourceBody) => ResourceBody> =>
  fc.tuple(bodies(schema), fc.array(fc.nat(), { maxLength: 2 })).map(([body, picks]) => seed => {
    const free = Object.entries(body).filter(([name]) => !(name in seed))
    return {
      ...Object.fromEntries(picks.flatMap(pick => free.slice(pick % (free.length + 1)).slice(0, 1))),
      ...seed,
    }
  })

/** Null for an optional field means the same as leaving it out. */
function withNull(schema: Schema, body: ResourceBody, pick: number): ResourceBody {
  const optional = Object.keys(schema.properties ?? {}).filter(name => !(name in body))
  const name = optional[pick % optional.length]
  return name === undefined ? body : { ...body, [name]: null }
}

function faulty(schema: Schema, body: ResourceBody, pick: number): Attempt {
  const faults = faultsOf(schema, body)
  return faults[pick % faults.length] ?? { what: 'nothing can be wrong', body }
}

/** Bodies for an operation: two fifths fit, one fifth are near the seed, two fifths have one fault. */
export function plans(schema: Schema): Arbitrary<Plan> {
  const any: Arbitrary<Plan> = bodies(schema).map(body => () => ({ what: 'valid', body }))
  const near: Arbitrary<Plan> = fc
    .tuple(seeded(schema), fc.nat(), fc.boolean())
    .map(([change, pick, nulled]) => seed => {
      const body = change(seed)
      return { what: 'near the seed', body: nulled ? withNull(schema, body, pick) : body }
    })
  const wrong: Arbitrary<Plan> = fc.tuple(bodies(schema), seeded(schema), fc.nat(), fc.boolean()).map(
    ([body, change, pick, useSeed]) =>
      seed =>
        faulty(schema, useSeed ? change(seed) : body, pick),
  )
  return fc.oneof(
    { weight: 2, arbitrary: any },
    { weight: 1, arbitrary: near },
    { weight: 2, arbitrary: wrong },
  )
}

/** Texts in place of an id. Paths of dots only are missing: clients resolve them before they send a path. */
export const strangeIds: Arbitrary<string> = fc
  .oneof(
    fc.string({ unit: 'grapheme', maxLength: 60 }),
    fc.stringMatching(/^[a-z]{1,6}_[0-9A-Za-z]{27}$/),
    fc.constantFrom(
      "ipp_' OR 1=1 --",
      '%',
      '%2e%2e%2f',
      '../../etc/passwd',
      '\u0000',
      'null',
      'x'.repeat(600),
    ),
  )
  .filter(text => !/^\.{0,2}$/.test(text) && text.isWellFormed())

interface Query {
  readonly text: string
  readonly acceptable: boolean
}

const limits = fc.oneof(
  fc.integer({ min: 1, max: 100 }).map(limit => ({ text: `?limit=${limit}`, acceptable: true })),
  fc
    .oneof(
      fc.integer({ max: 0 }),
      fc.integer({ min: 101 }),
      fc.constantFrom('', 'abc', '1e2', '0x10', '1.5', ' 5', '٣'),
    )
    .map(limit => ({ text: `?limit=${encodeURIComponent(limit)}`, acceptable: false })),
)
const wrongQueries = fc.oneof(
  fc
    .constantFrom(
      '?limit=1&limit=2',
      '?limit=%',
      '?limit=%zz',
      '?before_id=',
      '?before_id=x',
      '?LIMIT=1',
      '?&&=',
    )
    .map(text => ({ text, acceptable: false })),
  fc
    .tuple(fc.stringMatching(/^[a-z_]{1,10}$/), fc.string())
    .filter(([name]) => name !== 'limit' && name !== 'before_id')
    .map(([name, value]) => ({ text: `?${name}=${encodeURIComponent(value)}`, acceptable: false })),
)

/** Query strings, and whether an operation that takes `limit` and `before_id` may accept them. */
export const queries: Arbitrary<Query> = fc.oneof(
  fc.constantFrom('', '?').map(text => ({ text, acceptable: true })),
  limits,
  wrongQueries,
)
