import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { networks } from '#base/setting-values.ts'
import { TrustedProxies } from '#base/trusted-proxies.ts'

const trusting = (header: 'x-forwarded-for' | 'forwarded') =>
  new TrustedProxies({
    trusted_proxies: networks('10.0.0.0/8,fd00::/8'),
    trusted_proxy_header: header,
  })

suite('the client address behind trusted proxies', () => {
  const proxies = trusting('x-forwarded-for')
  const cases: readonly [peer: string, chain: string | undefined, client: string, why: string][] = [
    ['203.0.113.9', '198.51.100.1', '203.0.113.9', 'another peer may not name a client'],
    ['10.0.0.1', undefined, '10.0.0.1', 'a proxy that names no client speaks for itself'],
    ['10.0.0.1', '198.51.100.1', '198.51.100.1', 'a proxy names its client'],
    ['10.0.0.1', '127.0.0.1, 198.51.100.1', '198.51.100.1', 'what the client made up does not count'],
    ['10.0.0.1', '198.51.100.1, 10.0.0.2', '198.51.100.1', 'a chain of trusted proxies is followed'],
    ['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3', 'a client in a trusted network is the first one'],
    ['10.0.0.1', '198.51.100.1, unknown', '10.0.0.1', 'a name that is not an address ends the chain'],
    ['10.0.0.1', '198.51.100.1:4711', '198.51.100.1', 'a port is dropped'],
    ['10.0.0.1', '[2001:DB8::1]:4711', '2001:db8::1', 'IPv6 may have brackets and a port'],
    ['10.0.0.1', '2001:db8::1', '2001:db8::1', 'or none'],
    ['10.0.0.1', '::ffff:198.51.100.1', '198.51.100.1', 'mapped IPv4 is IPv4'],
    ['fd00::1', '198.51.100.1', '198.51.100.1', 'a proxy may use IPv6'],
    ['10.0.0.1', '', '10.0.0.1', 'an empty header names nothing'],
  ]
  for (const [peer, chain, client, why] of cases)
    test(why, () => {
      assert.equal(proxies.clientOf(peer, { 'x-forwarded-for': chain }), client)
    })

  test('comes from the configured header alone', () => {
    const fields = { 'x-forwarded-for': '198.51.100.1', forwarded: 'for=198.51.100.2;proto=https' }
    assert.equal(proxies.clientOf('10.0.0.1', fields), '198.51.100.1')
    assert.equal(trusting('forwarded').clientOf('10.0.0.1', fields), '198.51.100.2')
  })

  test('is read from Forwarded in all its forms', () => {
    const one = (forwarded: string): string => trusting('forwarded').clientOf('10.0.0.1', { forwarded })
    assert.equal(one('For="[2001:db8:cafe::17]:4711"'), '2001:db8:cafe::17')
    assert.equal(one('for=192.0.2.43, for=198.51.100.17;by=203.0.113.60'), '198.51.100.17')
    assert.equal(one('proto=http; for="198.51.100.17:80"; host=a.example'), '198.51.100.17')
    assert.equal(one('for=_hidden'), '10.0.0.1')
    assert.equal(one('xfor=198.51.100.17'), '10.0.0.1')
  })
})
