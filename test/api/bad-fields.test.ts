import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { ErrorName } from '#base/errors.ts'
import type { Kind } from '#contract/kind.ts'
import { kinds } from '#contract/kinds/index.ts'
import { operations } from '#contract/operations.ts'
import type { TSchema } from '#contract/schema.ts'
import { creatable, isCollection, Seeds } from '../support/seeds.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { assertRefusal, changesNothing } from './bad-support.ts'

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
    seeds = new Seeds(server.api)
    for (const collection of creatable) await seeds.one(collection)
  })
  after(() => server[Symbol.asyncDispose]())

  for (const collection of creatable) {
    const { shape, verbs, path, parent }: Kind = kinds[collection]
    for (const [field, limit] of Object.entries(limits)) {
      const refusals = (shape[field]?.write as { refusals?: { maxBytes?: ErrorName } } | undefined)?.refusals
      const refusal = refusals?.maxBytes
      if (refusal === undefined) continue

      test(`${field} of ${collection} has at most ${limit} bytes`, async () => {
        const item = `${await seeds.path(collection)}/${await seeds.id(collection)}`
        const write = async (text: string) => [
          await server.api.post(await seeds.path(collection), {
            ...(await seeds.body(collection)),
            [field]: text,
          }),
          ...(verbs.includes('update') ? [await server.api.patch(item, { [field]: text })] : []),
        ]
        await changesNothing(server.api, async () => {
          for (const text of texts(limit).map(fit => `${fit}x`))
            for (const answer of await write(text))
              assertRefusal(answer, refusal, new RegExp(`"${field}" .* ${limit} bytes`))
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
    assert.ok(parent === undefined || path.includes('{'))
  }

  const writing = operations.flatMap(operation =>
    operation.input ? [{ ...operation, schema: operation.input.schema as TSchema & Described }] : [],
  )
  for (const { id, method, path, collection, does, kind, schema } of writing) {
    const fields = Object.keys(schema.properties ?? {})

    test(`that ${id} does not know is named, with those it knows`, async () => {
      assert.ok(isCollection(collection))
      const rest = path.slice(kind.path.length).replace(/\{(id|type)\}/, await seeds.id(collection))
      const url = (await seeds.path(collection)) + rest
      const seed = 'verb' in does && does.verb === 'create' ? await seeds.body(collection) : {}
      const valid = 'module' in does ? await seeds.module(does.module) : seed
      await changesNothing(server.api, async () => {
        const answer = await server.api.call(method, url, { body: { ...valid, colour: 'red' } })
        assertRefusal(answer, 'unknown_field', /^"colour" is not a field of this request\. Supported: /)
        assert.equal(answer.body.details.field, 'colour')
        const supported = /Supported: (.*)\.$/.exec(answer.body.msg)?.[1]
        assert.deepEqual(supported?.split(', '), fields.length > 0 ? fields : ['none'])
      })
    })

    test(`of the wrong type is refused by ${id}`, async () => {
      assert.ok(isCollection(collection))
      const rest = path.slice(kind.path.length).replace(/\{(id|type)\}/, await seeds.id(collection))
      const url = (await seeds.path(collection)) + rest
      const seed = 'verb' in does && does.verb === 'create' ? await seeds.body(collection) : {}
      const valid = 'module' in does ? await seeds.module(does.module) : seed
      await changesNothing(server.api, async () => {
        for (const [name, { type = '' }] of Object.entries(schema.properties ?? {})) {
          assert.ok(type in misfits, `${name} has no type`)
          const { status, body, headers } = await server.api.call(method, url, {
            body: { ...valid, [name]: misfits[type] },
          })
          assert.equal(status, 400, `${name}: ${JSON.stringify(body)}`)
          assert.deepEqual([body.status_code, body.details.field], [400, name])
          assert.match(body.error_code, /^ERR_ADIT_\d+$/)
          assert.ok(body.msg.includes(`"${name}"`), body.msg)
          assert.equal(headers.get('adit-operation-id'), body.details.operation_id)
        }
      })
    })
  }
})
