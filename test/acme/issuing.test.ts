import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { answering, type Challenge } from './answerer.ts'
import { Pebble } from './pebble.ts'
import { World, point } from './world.ts'

suite('with an authority that refuses three nonces of ten', () => {
  let pebble: Pebble
  before(async () => {
    pebble = await Pebble.start({ nonceReject: 30, blocklist: ['blocked.example'] })
  })
  after(() => pebble[Symbol.asyncDispose]())

  for (const keyType of ['rsa', 'ecdsa'] as const) {
    test(`a plain name gets a certificate with a key of type ${keyType} by http-01`, async () => {
      await using world = await World.open(pebble)
      const seen: Challenge[] = []
      const domain = await world.reserve(`${keyType}.example.com`, keyType)
      await point(pebble, domain)
      await world.issue({}, answering(world.store, pebble, { seen }))
      const certificate = await world.issued(domain.id)
      assert.deepEqual(seen.map(({ type, name }) => [type, name]), [['http-01', `${keyType}.example.com`]])
      assert.equal(certificate.private_key_type, keyType)
      assert.deepEqual(certificate.subject_alternative_names.dns_names, [`${keyType}.example.com`])
    })
  }
})
