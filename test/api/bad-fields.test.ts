import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { ErrorName } from '#base/errors.ts'
import type { Kind } from '#contract/kind.ts'
import { kinds } from '#contract/kinds/index.ts'
import { operations } from '#contract/operations.ts'
import { actionExamples } from '#reference/examples.ts'
import { creatable, isCollection, Seeds } from '../support/seeds.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { assertRefusal, changesNothing } from './rejection-support.ts'

/** One character of two, three and four bytes. */
const characters = ['é', '漢', '😀']

/** Texts of exactly so many bytes, filled up with letters of one. */
const texts = (bytes: number): string[] =>
  characters.map(character => {
    const count = Math.floor(bytes / Buffer.byteLength(character))
    return character.repeat(count) + 'x'.repeat(bytes - count * Buffer.byteLength(character))
  })

const limits = { description: 255, metadata: 4096 }

interface Described {
  readonly properties?: Readonly<Record<string, { readonly type?: string; readonly enum?: unknown }>>
}

/** A value that no field of the type takes. */
const misfits: Readonly<Record<string, unknown>> = {
  string: 5,
  integer: '5',
  number: '0.5',
  boolean: 'true',
  array: 'text',
  object: ['text'],
}

suite('a field', () => {
  let server: TestServer
  let seeds: Seeds
  before(async () => {
    server = await startServer()
    seeds = await Seeds.all(server.api)
  })
  after(() => server[Symbol.asyncDispose]())

  for (const collection of creatable) {
    const { shape, verbs }: Kind = kinds[collection]
    for (const [field, limit] of Object.entries(limits)) {
      const schema: { refusals?: { maxBytes?: ErrorName } } | undefined = shape[field]?.write
      const refusal = schema?.refusals?.maxBytes
      if (refusal === undefined) continue

      test(`${field} of ${collection} has at most ${limit} bytes`, async () => {
        const path = await seeds.path(collection)
        const item = `${path}/${await seeds.id(collection)}`
        const write = async (text: string) => [
          await server.api.post(path, { ...(await seeds.body(collection)), [field]: text }),
          ...(verbs.includes('update') ? [await server.api.patch(item, { [field]: text })] : []),
        ]
        await changesNothing(server, async () => {
          const answers = await Promise.all(texts(limit).map(fit => write(`${fit}x`)))
          for (const answer of answers.flat()) assertRefusal(answer, refusal, new RegExp(`${limit} bytes`))
        })
        for (const text of texts(limit)) {
          for (const { status, body } of await write(text)) {
            assert.ok(status < 300, JSON.stringify(body))
            assert.equal(body[field], text)
            if (status === 201 && verbs.includes('delete')) await server.api.delete(`${path}/${body.id}`)
          }
        }
      })
    }
  }

  const writing = operations.flatMap(operation =>
    operation.input ? [{ ...operation, schema: operation.input.schema }] : [],
  )
  for (const { id, method, path, collection, does, kind, schema } of writing) {
    const { properties = {} }: Described = schema
    const fields = Object.keys(properties)

    /** A call that would be accepted, with one field more. */
    const callWith = async (name: string, value: unknown) => {
      assert.ok(isCollection(collection))
      const item = path.slice(kind.path.length).replace(/\{(id|type)\}/, await seeds.id(collection))
      const seed = 'verb' in does && does.verb === 'create' ? await seeds.body(collection) : {}
      const example = 'action' in does ? actionExamples[id] : undefined
      const valid = 'module' in does ? await seeds.module(does.module) : (example ?? seed)
      return server.api.call(method, (await seeds.path(collection)) + item, {
        body: { ...valid, [name]: value },
      })
    }

    test(`that is unknown to ${id} is named, with those that are not`, () =>
      changesNothing(server, async () => {
        const answer = await callWith('colour', 'red')
        assertRefusal(answer, 'unknown_field', /^"colour" is not a field of this request\. Supported: /)
        assert.equal(answer.body.details.field, 'colour')
        const supported = /Supported: (.*)\.$/.exec(answer.body.msg)?.[1]
        assert.deepEqual(supported?.split(', '), fields.length > 0 ? fields : ['none'])
      }))

    test(`of the wrong type is refused by ${id}`, () =>
      changesNothing(server, async () => {
        for (const [name, { type = '' }] of Object.entries(properties)) {
          assert.ok(type in misfits, `${name} has no type`)
          const { status, body, headers } = await callWith(name, misfits[type])
          assert.equal(status, 400, `${name}: ${JSON.stringify(body)}`)
          assert.deepEqual([body.status_code, body.details.field], [400, name])
          assert.match(body.error_code, /^ERR_ADIT_\d+$/)
          assert.ok(body.msg.includes(`"${name}"`), body.msg)
          assert.equal(headers.get('adit-operation-id'), body.details.operation_id)
        }
      }))
  }
})
