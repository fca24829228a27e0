import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { reachOf } from '#base/egress/reachable.ts'
import { rangesOf } from './support.ts'

/** SEC-14: what must not be reached, each with a form that hides it. */
const closed: Readonly<Record<string, readonly string[]>> = {
  unspecified: ['0.0.0.0', '0.1.2.3', '::', '::ffff:0.0.0.0'],
  loopback: [
    '127.0.0.1',
    '127.255.255.254',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '0:0:0:0:0:ffff:127.0.0.1',
  ],
  private: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '::ffff:10.0.0.1', '::ffff:c0a8:101'],
  'link-local': ['169.254.0.1', 'fe80::1', 'febf::1', 'fe80::1%eth0'],
  'unique local': ['fc00::1', 'fd12:3456::1'],
  'site-local': ['fec0::1'],
  'shared by carriers': ['100.64.0.1', '100.127.255.255'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1'],
  broadcast: ['255.255.255.255', '240.0.0.1'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  benchmarks: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  'protocol assignments': ['192.0.0.1', '192.88.99.1', '2001:20::1', '100::1', '5f00::1'],
  metadata: [
    '169.254.169.254',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    'fd00:ec2::254',
    '::ffff:a9fe:a9fe',
  ],
  'IPv4-compatible': ['::10.0.0.1', '::7f00:1', '::8.8.8.8'],
  NAT64: ['64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b::10.1.2.3', '64:ff9b:1::8.8.8.8'],
  '6to4': ['2002:7f00:1::', '2002:a00:1::1', '2002:808:808::1'],
  Teredo: ['2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  'no address': ['', 'localhost', '127.1', '0x7f000001', '2130706433', '1.2.3.4.5', '8.8.8.8 ', ':::'],
}

const open: readonly (readonly [given: string, connected: string])[] = [
  ['8.8.8.8', '8.8.8.8'],
  ['1.1.1.1', '1.1.1.1'],
  ['172.15.255.255', '172.15.255.255'],
  ['172.32.0.1', '172.32.0.1'],
  ['100.128.0.1', '100.128.0.1'],
  ['223.255.255.255', '223.255.255.255'],
  ['2606:4700::1111', '2606:4700::1111'],
  ['2A00:1450:0:0:0:0:0:1', '2a00:1450::1'],
  ['::ffff:8.8.8.8', '8.8.8.8'],
  ['64:ff9b::8.8.8.8', '64:ff9b::808:808'],
]

suite('SEC-14: allowed addresses', () => {
  const reach = reachOf([])
  for (const [name, addresses] of Object.entries(closed))
    for (const address of addresses)
      test(`are none of ${name}: ${address || 'nothing'}`, () => assert.equal(reach(address), undefined))

  for (const [given, connected] of open)
    test(`are those of the public network: ${given}`, () => assert.equal(reach(given), connected))

  test('are not bypassed by IPv6 forms of IPv4 addresses', () => {
    fc.assert(
      fc.property(fc.ipV4(), address => {
        const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
        const hex = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
        assert.equal(reach(`::ffff:${hex}`), reach(address))
        assert.equal(reach(`64:ff9b::${hex}`) === undefined, reach(address) === undefined)
        assert.equal(reach(`2002:${hex}::1`), undefined)
        assert.equal(reach(`::${hex}`), undefined)
      }),
    )
  })

  test('are those of a private network that is allowed, in every form', () => {
    const allowed = reachOf(rangesOf('10.1.0.0/16', 'fd00:1::/32', '127.0.0.1/32'))
    assert.deepEqual(
      [
        '10.1.2.3',
        '::ffff:10.1.2.3',
        'fd00:1::9',
        '127.0.0.1',
        '10.2.0.1',
        'fd00:2::1',
        '127.0.0.2',
        '8.8.8.8',
      ].map(allowed),
      ['10.1.2.3', '10.1.2.3', 'fd00:1::9', '127.0.0.1', undefined, undefined, undefined, '8.8.8.8'],
    )
  })

  test('include metadata services only when they are listed explicitly', () => {
    const wide = reachOf(rangesOf('0.0.0.0/0', '::/0'))
    assert.equal(wide('169.254.1.1'), '169.254.1.1')
    assert.deepEqual(
      ['169.254.169.254', '::ffff:169.254.169.254', '168.63.129.16', 'fd00:ec2::254'].map(wide),
      [undefined, undefined, undefined, undefined],
    )
    const named = reachOf(rangesOf('169.254.169.254/32', 'fd00:ec2::254/128'))
    assert.equal(named('169.254.169.254'), '169.254.169.254')
    assert.equal(named('fd00:ec2::254'), 'fd00:ec2::254')
  })
})
