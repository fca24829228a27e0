import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { ResponseCache } from '#api/response-cache.ts'

const MEBIBYTE = 1024 * 1024
const page = (cache: ResponseCache, kind: string, size = 10) => ({
  kind,
  body: Buffer.alloc(size),
  generation: cache.generation(kind),
})

suite('the cache of responses', () => {
  test('drops what is derived from the kind that changed, and only that', () => {
    const cache = new ResponseCache()
    cache.keep('/a', page(cache, 'a'))
    cache.keep('/b', page(cache, 'b'))
    cache.invalidate('a')
    assert.equal(cache.find('/a'), undefined)
    assert.ok(cache.find('/b'))
    cache.invalidate(undefined)
    assert.equal(cache.find('/b'), undefined)
  })

  test('does not keep a response whose kind changed while it was built', () => {
    const cache = new ResponseCache()
    const older = page(cache, 'a')
    cache.invalidate(undefined)
    cache.keep('/a', older)
    assert.equal(cache.find('/a'), undefined)
  })

  test('beyond 8 MiB evicts the oldest responses, but not those in use', () => {
    const cache = new ResponseCache()
    const size = MEBIBYTE / 4 - 1024
    for (let number = 0; number < 32; number++) cache.keep(`/${number}`, page(cache, 'a', size))
    assert.ok(cache.find('/0'))
    cache.keep('/another', page(cache, 'a', size))
    assert.ok(cache.find('/0'))
    assert.ok(cache.find('/another'))
    assert.equal(cache.find('/1'), undefined)
  })

  test('does not keep a response above 256 KiB', () => {
    const cache = new ResponseCache()
    cache.keep('/a', page(cache, 'a', MEBIBYTE / 4 + 1))
    assert.equal(cache.find('/a'), undefined)
  })
})
