import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, suite, test, type TestContext } from 'node:test'
import fc from 'fast-check'
import { newId } from '#base/ids.ts'
import type { ResourceBody } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import { kinds, type Collection } from '#contract/kinds/index.ts'
import { actionExamples } from '#reference/examples.ts'
import { isCollection, Seeds } from '../support/seeds.ts'
import { startServer, type Answer, type TestServer } from '../support/server.ts'
import { plans, queries, strangeIds, type Attempt, type Plan } from './fuzz-attempts.ts'
import { fits, OpenApiDocument, type Documented, type Schema } from './fuzz-document.ts'

const long = process.env['TEST_LONG'] !== undefined
const BODIES = long ? 5000 : 16
const CALLS_WITHOUT_BODY = long ? 500 : 4
const AT_ONCE = 16
// The short form finds the same in every run: what a new seed finds is looked for where there is time.
const seed = Number(process.env['FUZZ_SEED'] ?? (long ? Date.now() % 2 ** 31 : 1))

/** Each operation has a seed of its own: with one for all of them, all would have few wrong bodies or none would. */
const seedOf = ({ operationId }: Documented): number =>
  createHash('sha256').update(`${seed} ${operationId}`).digest().readInt32BE()

/** Runs the tasks, some at a time. */
async function each<T>(items: readonly T[], atOnce: number, run: (item: T, index: number) => Promise<void>) {
  const rest = items.entries()
  const worker = async () => {
    for (const [index, item] of rest) await run(item, index)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

/**
 * An RSA authority of 4096 bits takes seconds to make, and a random body asks for one as often as not. One in
 * fifty is left as it is; the others ask for a key that is made at once.
 */
function affordable(attempt: Attempt, index: number): Attempt {
  const body = attempt.body as ResourceBody
  const slow =
    body['private_key_type'] === 'rsa' && [undefined, null, 0, 4096].includes(body['key_size'] as number)
  return slow && index % 50 !== 0 ? { ...attempt, body: { ...body, private_key_type: 'ed25519' } } : attempt
}

const collectionOf = ({ collection }: Documented): Collection =>
  isCollection(collection) ? collection : assert.fail(`${collection} is no collection`)

/** The path of an operation on the resource that `id` names. */
async function pathTo(operation: Documented, id: string, seeds: Seeds): Promise<string> {
  if (operation.collection === '') return operation.path
  const collection = collectionOf(operation)
  const rest = operation.path.slice(kinds[collection].path.length)
  return (await seeds.path(collection)) + rest.replace(/\{(id|type)\}/, () => encodeURIComponent(id))
}

const reported = (operation: Documented, what: string, input: unknown): string =>
  `${operation.operationId}, FUZZ_SEED=${seed}, ${what}: ${JSON.stringify(input)?.slice(0, 2000)}`.slice(
    0,
    2500,
  )

suite('every operation of the served OpenAPI document', () => {
  let server: TestServer
  let document: OpenApiDocument
  let seeds: Seeds

  before(async () => {
    server = await startServer()
    document = await OpenApiDocument.fetch(server.api)
    seeds = await Seeds.all(server.api)
  })
  after(() => server[Symbol.asyncDispose]())

  /** Calls, and holds the answer against the document. */
  async function call(operation: Documented, path: string, attempt?: Attempt): Promise<Answer> {
    const answer = await server.api.call(
      operation.method,
      path,
      attempt && { body: JSON.stringify(attempt.body) },
    )
    try {
      document.check(operation, answer)
      if (attempt && operation.body && answer.status < 300 && attempt.what !== 'near the seed')
        assert.ok(fits(operation.body, attempt.body), 'a body that does not fit was accepted')
    } catch (error) {
      throw new Error(reported(operation, attempt?.what ?? path, attempt?.body), { cause: error })
    }
    return answer
  }

  const seedFor = async ({ word, ...operation }: Documented): Promise<ResourceBody> => {
    if (word === 'create') return seeds.body(collectionOf({ word, ...operation }))
    if (word.startsWith('replace_')) return seeds.module(word.slice('replace_'.length))
    return actionExamples[operation.operationId] ?? {}
  }

  /** Sends bodies to an operation; resolves to how many were accepted and how many did not fit. */
  async function sendBodies(operation: Documented, schema: Schema) {
    const collection = collectionOf(operation)
    const { key, live }: Kind = kinds[collection]
    const creates = operation.word === 'create'
    const isOfOne = /\{(id|type)\}/.test(operation.path)
    const make = async (): Promise<unknown> => (await seeds.make(collection))[key]
    const target = isOfOne ? String(await (live ? seeds.id(collection) : make())) : ''
    const path = await pathTo(operation, target, seeds)
    const count = { accepted: 0, unfit: 0 }
    const attempt = async (plan: Plan, index: number) => {
      const made = affordable(plan(await seedFor(operation)), index)
      if (made.what !== 'near the seed' && !fits(schema, made.body)) count.unfit++
      const answer = await call(operation, path, made)
      if (answer.status >= 300) return
      count.accepted++
      if (creates) await server.api.delete(`${path}/${String(answer.body[key])}`)
    }
    // Alone first: a SAML module makes its signing key once, and sixteen at the same moment would make sixteen.
    await attempt(body => ({ what: 'the seed', body }), 0)
    // Changes of one resource one by one, or most of them would only meet each other.
    const bodies = fc.sample(plans(schema), { seed: seedOf(operation), numRuns: BODIES - 1 })
    await each(bodies, creates ? AT_ONCE : 1, attempt)
    if (isOfOne && !live) await server.api.delete(`${await seeds.path(collection)}/${target}`)
    return { ...count, isOfLive: isOfOne && live === true }
  }

  test('answers as documented whatever the body', async (t: TestContext) => {
    for (const operation of document.operations) {
      const schema = operation.body
      if (!schema) continue
      await t.test(operation.operationId, async () => {
        const { accepted, unfit, isOfLive } = await sendBodies(operation, schema)
        // What is live is not made here.
        assert.ok(
          isOfLive || accepted > BODIES / 100,
          `only ${accepted} bodies were accepted (FUZZ_SEED=${seed})`,
        )
        assert.ok(unfit > BODIES / 10, `only ${unfit} bodies were wrong (FUZZ_SEED=${seed})`)
      })
    }
  })

  test('answers as documented whatever the id and the query', async (t: TestContext) => {
    for (const operation of document.operations.filter(({ body }) => !body)) {
      await t.test(operation.operationId, async () => {
        const ids = operation.path.includes('{') ? await idsFor(operation, seeds) : fc.constant('')
        const calls = fc.sample(fc.tuple(ids, queries), {
          seed: seedOf(operation),
          numRuns: CALLS_WITHOUT_BODY,
        })
        await each(calls, AT_ONCE, async ([id, query]) => {
          const { status } = await call(operation, (await pathTo(operation, id, seeds)) + query.text)
          const refusable = operation.collection !== '' && !query.acceptable
          assert.ok(!refusable || status >= 400, reported(operation, 'accepted', query.text))
        })
      })
    }
  })
})

/** Ids that name what exists, except for what would remove it; that name nothing; and what is no id. */
async function idsFor(operation: Documented, seeds: Seeds): Promise<fc.Arbitrary<string>> {
  const collection = collectionOf(operation)
  const { prefix = 'x' }: Kind = kinds[collection]
  const other = await seeds.id(collection === 'ip_policies' ? 'api_keys' : 'ip_policies')
  const known = operation.word === 'delete' ? other : await seeds.id(collection)
  return fc.oneof(fc.constantFrom(known, other, newId(prefix)), strangeIds)
}
