import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPublicSuffix } from '#base/public-suffix.ts'
import { assertRefused, createResource, onEachStore } from '../support/each-store.ts'

test('a public suffix is known as one, in both parts of the list', () => {
  for (const name of [
    'com',
    'co.uk',
    'c.kobe.jp',
    'anything.ck',
    'github.io',
    'xn--p1ai',
    's3.amazonaws.com',
  ])
    assert.equal(isPublicSuffix(name), true, name)
  const others = ['example.com', 'example.co.uk', 'city.kobe.jp', 'www.ck', 'me.github.io', 'shop.xn--p1ai']
  for (const name of [...others, 'lan', 'shop.lan', 'adit.localhost', 'box.internal', 'test'])
    assert.equal(isPublicSuffix(name), false, name)
})

onEachStore('SEC-13: reserving domains', api => {
  test('is refused for public suffixes and their wildcards', async () => {
    for (const domain of ['co.uk', 'CO.UK.', '*.co.uk', 'github.io', '*.github.io', '*.com', '*.xn--p1ai'])
      await assertRefused(
        api(),
        { path: '/reserved_domains', body: { domain }, code: 90205, field: 'domain', says: /public suffix/ },
        ['/reserved_domains'],
      )
    for (const domain of ['shop.example.co.uk', '*.example.co.uk', 'me.github.io', 'box.lan'])
      await createResource(api(), '/reserved_domains', { domain })
  })

  test('gives a name to one reservation only, beside the wildcard over it', async () => {
    const wide = await createResource(api(), '/reserved_domains', { domain: '*.both.example.com' })
    const exact = await createResource(api(), '/reserved_domains', { domain: 'a.both.example.com' })
    for (const { domain } of [wide, exact])
      await assertRefused(api(), { path: '/reserved_domains', body: { domain }, code: 413 })
    await assertRefused(api(), {
      path: '/reserved_domains',
      body: { domain: 'A.Both.Example.com.' },
      code: 413,
    })
  })

  test('allows a released name to be reserved again, without its former settings', async () => {
    const domain = 'again.example.com'
    const first = await createResource(api(), '/reserved_domains', { domain })
    assert.equal((await api().delete(`/reserved_domains/${first.id}`)).status, 204)
    const second = await createResource(api(), '/reserved_domains', { domain })
    assert.notEqual(second.id, first.id)
    // Records in DNS that were set for the first prove nothing for the second.
    assert.notEqual(second.cname_target, first.cname_target)
    assert.equal(second.certificate, null)
  })

  test('rejects the names of the server itself', async () => {
    for (const name of ['api', 'tunnel', 'acme', 'x.cname'])
      await assertRefused(api(), {
        path: '/reserved_domains',
        body: { domain: `${name}.adit.localhost` },
        code: 404,
      })
    const body = { domain: '*.adit.localhost' }
    await assertRefused(api(), { path: '/reserved_domains', body, code: 416 })
  })
})
