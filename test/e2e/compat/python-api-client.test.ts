import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { operations, type Operation } from '#contract/operations.ts'
import { createExamples } from '../../support/create-examples.ts'
import { startServer, type Answer, type TestServer } from '../../support/server.ts'
import { headers, unknownToClient, updateWithoutArguments } from './python-client/recorded-requests.ts'

const updates = operations.filter(({ method }) => method === 'PATCH')
const writable = ({ input }: Operation): string[] =>
  Object.entries(input?.shape ?? {}).flatMap(([name, field]) => (field.update ? [field.as ?? name] : []))

suite('the published client ngrok-api for Python', () => {
  let server: TestServer
  let resources: ReadonlyMap<string, Answer['body']>
  before(async () => {
    server = await startServer()
    const fields = new Map(updates.map(each => [each.collection, writable(each)]))
    resources = await createExamples(server.api, collection => ({
      ...(fields.get(collection)?.includes('description') && { description: 'kept' }),
      ...(fields.get(collection)?.includes('metadata') && { metadata: 'kept' }),
      ...(collection === 'reserved_domains' && { resolves_to: [{ value: 'eu' }] }),
    }))
  })
  after(() => server[Symbol.asyncDispose]())

  /** Calls `update` with these arguments and returns the resource as it was, as answered and as it is now. */
  async function update({ collection, path }: Operation, given: object): Promise<Answer['body'][]> {
    const { uri } = resources.get(collection)
    const { body: earlier } = await server.api.get(uri)
    const body = updateWithoutArguments[path]
    const answer = await server.api.call('PATCH', uri, {
      headers,
      ...(body && { body: { ...body, ...given } }),
    })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return [earlier, answer.body, (await server.api.get(uri)).body]
  }

  test('has an update for every kind that can be changed, but for a few', () => {
    const known = updates.filter(({ collection }) => !unknownToClient.has(collection))
    assert.deepEqual(known.map(({ path }) => path).toSorted(), Object.keys(updateWithoutArguments).toSorted())
  })

  for (const operation of updates) {
    if (unknownToClient.has(operation.collection)) continue
    const named = ['description', 'metadata', 'name'].filter(name => writable(operation).includes(name))
    for (const given of [{}, ...named.map(name => ({ [name]: 'changed' }))]) {
      const text = Object.keys(given).map(name => `${name}='changed'`)
      test(`${operation.collection}.update(${text.join('')}) changes nothing else`, async () => {
        const [earlier, answer, now] = await update(operation, given)
        assert.deepEqual(answer, { ...earlier, ...given })
        assert.deepEqual(now, answer)
      })
    }
  }

  for (const { collection, does, method } of operations) {
    if (method !== 'PUT' || !('module' in does) || unknownToClient.has(collection)) continue
    test(`${collection}: replacing ${does.module} means what a plain request means`, async () => {
      const address = `${resources.get(collection).uri}/${does.module}`
      const plain = await server.api.put(address, {})
      const bare = await server.api.call('PUT', address, { headers })
      const given = await server.api.put(address, {}, { headers })
      for (const { status, body } of [bare, given]) {
        assert.equal(status, plain.status)
        if (status === 200) assert.deepEqual(body, plain.body)
        else assert.equal(body.msg, plain.body.msg)
      }
    })
  }

  test('empties a text or list only if it is given an empty value', async () => {
    const { uri } = resources.get('https_edges')
    const emptied = { description: '', hostports: [] }
    const { body } = await server.api.patch(uri, emptied, { headers })
    assert.partialDeepStrictEqual(body, emptied)
  })
})
