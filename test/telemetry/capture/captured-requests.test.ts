import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { HttpClientConnection } from '#http/exchange.ts'
import { Fields } from '#http/fields.ts'
import type { RequestHead } from '#http/head.ts'
import { CapturedRequests } from '#telemetry/capture/captured-requests.ts'

const KEPT_BYTES = 1_048_576

const head: RequestHead = {
  method: 'GET',
  target: '/',
  path: '/',
  host: 'shop.test',
  authority: 'shop.test',
  version: '1.1',
  keepAlive: true,
  upgrade: '',
  expectsContinue: false,
  framing: { kind: 'none' },
  fields: Fields.none,
}

suite('captured requests', () => {
  test('are found by their ids, however many have begun since others were read', () => {
    const captures = new CapturedRequests({ maxBytes: 2 * KEPT_BYTES, maxBodyBytes: 1024 }, () => undefined)
    const client = {} as HttpClientConnection
    const begin = (id: string) => captures.begin({ id, client, head, ownerId: 'usr_1' })
    const first = begin('req_first')
    assert.equal(captures.get('req_first'), first)
    const [second, other] = [begin('req_second'), begin('req_other')]
    assert.equal(captures.get('req_second'), second)
    captures.assign(other, 'usr_2')
    for (let index = 0; index < 25_000; index++) begin(`req_${index}`)
    const last = begin('req_last')
    assert.equal(captures.get('req_first'), undefined)
    assert.equal(captures.get('req_last'), last)
    assert.equal(captures.get('req_other'), other)
  })

  test('are no longer in memory once they are evicted', async () => {
    const captures = new CapturedRequests({ maxBytes: KEPT_BYTES, maxBodyBytes: 1024 }, () => undefined)
    const client = {} as HttpClientConnection
    // More than are kept, and fewer than twice as many.
    const begun = Array.from({ length: 1500 }, (_, index) => {
      return new WeakRef(captures.begin({ id: `req_${index}`, client, head, ownerId: 'usr_1' }))
    })
    const kept = [...captures.values()].length
    assert.ok(kept > 750 && kept < begun.length, `${kept} are kept`)
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    // A WeakRef holds its object until the end of the turn that made it.
    await setImmediate()
    collect()
    assert.equal(begun.filter(each => each.deref() !== undefined).length, kept)
  })
})
