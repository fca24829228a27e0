import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { operations, type Operation } from '#contract/operations.ts'
import { isWritable, writtenName } from '#contract/shape-schema.ts'
import type { Shape } from '#contract/shape.ts'
import { isCollection, Seeds } from '../support/seeds.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { assertRefusal, changesNothing } from './rejection-support.ts'

interface Reference {
  /** The names that lead to it in a body, as a client writes them. */
  readonly path: readonly string[]
  readonly type: string
  /** The outermost module that it is part of. */
  readonly module: string | undefined
}

/** Every field of a body that holds ids of other resources. */
function referencesIn(shape: Shape, verb: 'create' | 'update', above: readonly string[] = []): Reference[] {
  return Object.entries(shape).flatMap(([name, field]) => {
    if (field.write === undefined || !isWritable(field, verb)) return []
    const path = [...above, writtenName(name, field)]
    if (field.target !== undefined)
      return [{ path, type: String(Reflect.get(field.write, 'type')), module: above.at(0) }]
    // What is inside of another object is always replaced whole.
    return field.shape === undefined ? [] : referencesIn(field.shape, 'create', path)
  })
}

const emptyOf = (type: string): unknown => (type === 'array' ? [''] : type === 'object' ? { '': 1 } : '')

/** The body with one value put at a path. */
function withValue(
  body: Readonly<Record<string, unknown>>,
  [name = '', ...rest]: readonly string[],
  value: unknown,
): Record<string, unknown> {
  const inner = body[name]
  const within = typeof inner === 'object' && inner !== null ? { ...inner } : {}
  return { ...body, [name]: rest.length === 0 ? value : withValue(within, rest, value) }
}

const verbOf = ({ method }: Operation): 'create' | 'update' => (method === 'PATCH' ? 'update' : 'create')

const cases = operations.flatMap(operation =>
  operation.input === undefined
    ? []
    : referencesIn(operation.input.shape, verbOf(operation)).map(reference => ({ operation, reference })),
)

suite('an empty text', () => {
  let server: TestServer
  let seeds: Seeds
  before(async () => {
    server = await startServer()
    seeds = await Seeds.all(server.api)
  })
  after(() => server[Symbol.asyncDispose]())

  test('is tried for every kind of reference, with every method that writes', () => {
    const methods = new Set(cases.map(({ operation }) => operation.method))
    const types = new Set(cases.map(({ reference }) => reference.type))
    assert.deepEqual([...methods].toSorted(), ['PATCH', 'POST', 'PUT'])
    assert.deepEqual([...types].toSorted(), ['array', 'object', 'string'])
    const found = new Set(
      cases.map(({ operation, reference }) => `${operation.id} ${reference.path.join('.')}`),
    )
    for (const each of [
      'endpoint_configurations_replace_backend backend_id',
      'reserved_addrs_update endpoint_configuration_id',
      'https_edge_routes_create ip_restriction.ip_policy_ids',
      'weighted_backends_update backends',
      'credentials_create owner_id',
    ])
      assert.ok(found.has(each), each)
  })

  /** A body that is accepted, but for what a test puts into it. */
  async function validBody({ does, collection }: Operation, module: string | undefined) {
    assert.ok(isCollection(collection))
    if ('module' in does) return seeds.module(does.module)
    const body = 'verb' in does && does.verb === 'create' ? await seeds.body(collection) : {}
    return module === undefined ? body : { ...body, [module]: await seeds.module(module) }
  }

  for (const { operation, reference } of cases) {
    const { id, method, path, kind, collection } = operation
    const name = reference.path.join('.')
    test(`is not a reference: ${name} of ${id}`, async () => {
      assert.ok(isCollection(collection))
      const item = path.slice(kind.path.length).replace(/\{(id|type)\}/, await seeds.id(collection))
      const body = withValue(
        await validBody(operation, reference.module),
        reference.path,
        emptyOf(reference.type),
      )
      const target = (await seeds.path(collection)) + item
      await changesNothing(server, async () => {
        const answer = await server.api.call(method, target, { body })
        assertRefusal(answer, 'reference_empty', /must be the id of/)
        assert.ok(answer.body.msg.includes(name), answer.body.msg)
      })
    })
  }
})
