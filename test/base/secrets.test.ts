import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { Sealer, Secret } from '#base/secrets.ts'

suite('secrets', () => {
  test('are never printed by accident', () => {
    const secret = new Secret('hunter2')
    const shown = [
      'a ' + String(secret),
      JSON.stringify({ secret }),
      inspect(secret),
      inspect({ secret }),
      String(secret),
    ]
    assert.ok(
      shown.every(text => !text.includes('hunter2')),
      shown.join(),
    )
    assert.equal(secret.reveal(), 'hunter2')
  })

  test('are decrypted only with their key and for their record', () => {
    const sealer = new Sealer(randomBytes(32))
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), text => {
        fc.pre(text.isWellFormed())
        const sealed = sealer.seal(text, 'a_1')
        assert.equal(sealer.unseal(sealed, 'a_1'), text)
        assert.throws(() => sealer.unseal(sealed, 'a_2'))
        assert.throws(() => new Sealer(randomBytes(32)).unseal(sealed, 'a_1'), /another master key/)
        assert.notEqual(sealer.seal(text, 'a_1'), sealed)
      }),
    )
  })

  test('are not decrypted after a modification', () => {
    const sealer = new Sealer(randomBytes(32))
    const sealed = sealer.seal('hunter2', 'a_1')
    const [key = '', data = ''] = sealed.split('.')
    const bytes = Buffer.from(data, 'base64url')
    for (let index = 0; index < bytes.length; index++) {
      const changed = Buffer.from(bytes)
      changed[index] = (changed[index] ?? 0) ^ 1
      assert.throws(() => sealer.unseal(`${key}.${changed.toString('base64url')}`, 'a_1'))
    }
  })
})
