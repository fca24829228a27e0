import assert from 'node:assert/strict'
import { BlockList, isIP } from 'node:net'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { addressFilter } from '#base/address-filter.ts'
import { canonicalAddress, parseRange, plainAddress, rangeText } from '#base/addresses.ts'

suite('addresses', () => {
  test('of sockets are shown without their wrapping', () => {
    assert.equal(plainAddress('::ffff:192.0.2.1'), '192.0.2.1')
    assert.equal(plainAddress('fe80::1%eth0'), 'fe80::1')
    assert.equal(plainAddress('2001:db8::1'), '2001:db8::1')
  })

  const ranges: [string, string | undefined][] = [
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['255.255.255.255/1', '128.0.0.0/1'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['192.0.2.7/32', '192.0.2.7/32'],
    ['2001:DB8::1/32', '2001:db8::/32'],
    ['::ffff:10.0.0.1/128', '::ffff:a00:1/128'],
    ['fe80::1/10', 'fe80::/10'],
    ['::/0', '::/0'],
    ['10.0.0.0/33', undefined],
    ['::/129', undefined],
    ['10.0.0.0', undefined],
    ['10.0.0.0/8/8', undefined],
    ['10.0.0/8', undefined],
    ['010.0.0.0/8', undefined],
    ['fe80::1%eth0/64', undefined],
    ['10.0.0.0/ 8', undefined],
    ['', undefined],
  ]
  for (const [given, expected] of ranges) {
    test(`reads ${given || 'nothing'} as ${expected ?? 'no range'}`, () => {
      const range = parseRange(given)
      assert.equal(range && rangeText(range), expected)
    })
  }

  test('are found in ranges as the platform itself finds them', () => {
    fc.assert(
      fc.property(fc.ipV6(), fc.integer({ min: 0, max: 128 }), fc.ipV6(), (network, bits, address) => {
        fc.pre(isIP(network) === 6 && isIP(address) === 6)
        const list = new BlockList()
        list.addSubnet(network, bits, 'ipv6')
        const filter = addressFilter([{ cidr: `${network}/${bits}`, action: 'allow' }])
        assert.equal(filter(address), list.check(address, 'ipv6'))
        assert.equal(canonicalAddress(canonicalAddress(address) ?? ''), canonicalAddress(address))
      }),
    )
  })

  test('are found among many ranges as the platform finds them', () => {
    const ipv4 = fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 }))
    const ipv6 = fc.tuple(fc.ipV6(), fc.integer({ min: 0, max: 128 }))
    const networks = fc.array(fc.oneof(ipv4, ipv6), { maxLength: 50 })
    fc.assert(
      fc.property(networks, fc.array(fc.oneof(fc.ipV4(), fc.ipV6()), { maxLength: 20 }), (given, asked) => {
        const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
        for (const [network, bits] of given) {
          const range = parseRange(`${network}/${bits}`)
          if (range) lists[range.family].addSubnet(range.address, range.bits, range.family)
        }
        const filter = addressFilter(
          given.map(([network, bits]) => ({ cidr: `${network}/${bits}`, action: 'allow' })),
        )
        // One family says nothing of the other here, except in the form that maps IPv4 into IPv6.
        const plain = [...asked, ...given.map(([network]) => network)].filter(ip => !/^::|:ffff:/i.test(ip))
        for (const ip of plain) {
          const family = isIP(ip) === 6 ? 'ipv6' : 'ipv4'
          assert.equal(filter(ip), lists[family].check(ip, family), ip)
        }
      }),
    )
  })

  test('are let through when some rule allows them and none denies', () => {
    const filter = addressFilter([
      { cidr: '10.0.0.0/8', action: 'allow' },
      { cidr: '10.9.0.0/16', action: 'deny' },
      { cidr: '2001:db8::/32', action: 'allow' },
    ])
    assert.deepEqual(
      [
        '10.1.1.1',
        '::ffff:10.1.1.1',
        '10.9.1.1',
        '11.0.0.1',
        '2001:db8::9',
        '2001:db8::9%eth0',
        'nonsense',
      ].map(filter),
      [true, true, false, false, true, true, false],
    )
    assert.equal(addressFilter([])('10.0.0.1'), false)
  })
})
