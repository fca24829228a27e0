import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { suite, test } from 'node:test'
import { readSettings } from '#base/read-settings.ts'
import { rcodes, types } from '#dns/message.ts'
import { lookUp } from '#dns/zone.ts'
import type { SourceRow } from '#registry/records/source.ts'
import { DnsZones } from '#domains/dns-zones.ts'
import { nameServerAddresses, publicAddresses } from '#domains/dns.ts'

const NOW = Date.parse('2026-05-01T00:00:00Z')
const proof = (text: string): string => hash('sha256', text, 'base64url')

const zonesOf = (rows: readonly SourceRow[] = [], authorities: readonly string[] = []): DnsZones => {
  const addresses = ['198.51.100.7', '2001:db8::7']
  const zones = new DnsZones({ domain: 'adit.test', addresses, authorities, now: () => NOW })
  zones.snapshot(rows)
  return zones
}

const row = (kind: string, id: string, body: Record<string, unknown>): SourceRow => ({
  kind,
  id,
  parent: null,
  version: 1,
  body,
  readable: true,
})

const challenge = (id: string, body: Record<string, unknown>): SourceRow =>
  row('acme_challenge', id, {
    type: 'dns-01',
    token: 't',
    key_authorization: id,
    expires_at: '2026-05-02T00:00:00Z',
    ...body,
  })

const ingress = (domain: string): SourceRow =>
  row('agent_ingress', `agin_${domain}`, {
    domain,
    ns_targets: ['ns1.adit.test', 'ns2.adit.test'],
    region_domains: [`tunnel.us.${domain}`],
  })

/** Texts of names and of TXT records, numbers of the bytes of an address. */
function answers(zones: DnsZones, name: string, type: keyof typeof types): string[] {
  return lookUp(zones, name, types[type]).answers.flatMap(({ set }) =>
    set.data.map(([first = '']) => {
      if (typeof first === 'string') return first
      return set.type === types.TXT ? first.toString('latin1', 1) : [...first].join('.')
    }),
  )
}

const HERE = ['198.51.100.7']

suite('the shared domain', () => {
  test('keeps its names pointing here while a challenge below them is served', () => {
    const name = 'a.deep.adit.test'
    const zones = zonesOf([challenge('ac_1', { name, target: `_acme-challenge.${name}` })])
    assert.deepEqual(answers(zones, `_acme-challenge.${name}`, 'TXT'), [proof('ac_1')])
    for (const each of [name, `x.${name}`, 'deep.adit.test', 'b.deep.adit.test', 'x.adit.test'])
      assert.deepEqual(answers(zones, each, 'A'), HERE, each)
    const custom = zonesOf([challenge('ac_2', { name: 'w.example.com', target: 'abc.acme.adit.test' })])
    assert.deepEqual(answers(custom, 'def.acme.adit.test', 'A'), [])
  })

  test('points here with all its names', () => {
    const zones = zonesOf()
    const names = [
      '',
      'api.',
      'idp.',
      'tunnel.',
      'ns1.',
      'ns2.',
      'any.',
      'a.b.',
      '1.tcp.',
      '1.tcp.eu.',
      'x.cname.',
    ]
    for (const name of names) {
      assert.deepEqual(answers(zones, `${name}adit.test`, 'A'), HERE, name)
      assert.equal(lookUp(zones, `${name}adit.test`, types.AAAA).answers.length, 1, name)
    }
    assert.deepEqual(answers(zones, 'adit.test', 'NS'), ['ns1.adit.test', 'ns2.adit.test'])
    assert.equal(lookUp(zones, 'x.acme.adit.test', types.A).rcode, rcodes.nxDomain)
    assert.equal(lookUp(zones, 'other.test', types.A).rcode, rcodes.refused)
  })

  test('names authorities only where the operator does', () => {
    assert.equal(lookUp(zonesOf(), 'adit.test', types.CAA).answers.length, 0)
    const [caa] = lookUp(zonesOf([], ['ca.test', 'other.test']), 'adit.test', types.CAA).answers
    assert.equal(caa?.set.data.length, 2)
  })

  test('has a serial number that grows with each change', () => {
    const zones = zonesOf()
    const serial = () => {
      const numbers = zones.zoneOf('adit.test')?.soa.set.data[0]?.[2]
      return Buffer.isBuffer(numbers) ? numbers.readUInt32BE(0) : assert.fail()
    }
    const first = serial()
    assert.equal(first, NOW / 1000)
    assert.equal(serial(), first)
    zones.changes([{ op: 'put', row: ingress('a.example.com') }])
    assert.equal(serial(), first + 1)
  })
})

test('name servers are where DNS is answered, which may be at one of the addresses', () => {
  const addresses = ['198.51.100.7', '198.51.100.8', '2001:db8::7']
  const askedAt = nameServerAddresses({ host: '198.51.100.8', port: 53 }, addresses)
  const zones = new DnsZones({
    domain: 'adit.test',
    addresses,
    nameServerIps: askedAt,
    authorities: [],
    now: () => NOW,
  })
  for (const name of ['ns1.adit.test', 'ns2.adit.test']) {
    assert.deepEqual(answers(zones, name, 'A'), ['198.51.100.8'])
    assert.deepEqual(answers(zones, name, 'AAAA'), [])
  }
  assert.equal(answers(zones, 'adit.test', 'A').length, 2)
  for (const host of ['0.0.0.0', '10.0.0.4'])
    assert.equal(nameServerAddresses({ host, port: 53 }, addresses), addresses)
  assert.deepEqual(nameServerAddresses({ host: '2001:DB8:0::7', port: 53 }, addresses), ['2001:db8::7'])
})

suite('a challenge', () => {
  test('is answered while it is there, several at a time', () => {
    const target = '1a.acme.adit.test'
    const zones = zonesOf([challenge('one', { name: '*.example.org', target })])
    assert.deepEqual(answers(zones, target, 'TXT'), [proof('one')])
    zones.changes([{ op: 'put', row: challenge('two', { name: 'example.org', target }) }])
    assert.deepEqual(answers(zones, target, 'TXT'), [proof('one'), proof('two')])
    zones.changes([{ op: 'remove', kind: 'acme_challenge', id: 'one' }])
    assert.deepEqual(answers(zones, target, 'TXT'), [proof('two')])
    zones.changes([{ op: 'remove', kind: 'acme_challenge', id: 'two' }])
    assert.equal(lookUp(zones, target, types.TXT).rcode, rcodes.nxDomain)
  })

  test('of a name that is ours is answered at the name itself', () => {
    const zones = zonesOf([
      challenge('apex', { name: 'adit.test', target: '_acme-challenge.adit.test' }),
      challenge('wild', { name: '*.adit.test', target: '_acme-challenge.adit.test' }),
    ])
    assert.deepEqual(answers(zones, '_acme-challenge.adit.test', 'TXT'), [proof('apex'), proof('wild')])
  })

  test('of another type, or that is over, or elsewhere, is not answered', () => {
    const target = 'x.acme.adit.test'
    const zones = zonesOf([
      challenge('http', { type: 'http-01', name: 'a.org', target }),
      challenge('late', { name: 'a.org', target, expires_at: '2026-04-30T00:00:00Z' }),
      challenge('far', { name: 'a.org', target: 'x.acme.example.org' }),
    ])
    assert.equal(lookUp(zones, target, types.TXT).rcode, rcodes.nxDomain)
    assert.equal(lookUp(zones, 'x.acme.example.org', types.TXT).rcode, rcodes.refused)
  })
})

suite('a delegated domain', () => {
  test('has the name servers and names that the API returns, and no others', () => {
    const zones = zonesOf([ingress('agents.example.com')])
    assert.deepEqual(answers(zones, 'agents.example.com', 'NS'), ['ns1.adit.test', 'ns2.adit.test'])
    assert.deepEqual(answers(zones, 'tunnel.us.agents.example.com', 'A'), HERE)
    assert.deepEqual(answers(zones, 'agents.example.com', 'A'), HERE)
    assert.equal(lookUp(zones, 'us.agents.example.com', types.A).rcode, rcodes.noError)
    assert.equal(lookUp(zones, 'x.agents.example.com', types.A).rcode, rcodes.nxDomain)
    assert.equal(lookUp(zones, 'example.com', types.A).rcode, rcodes.refused)
  })

  test('has the records of custom names within it, so that they need not be set', () => {
    const domain = (name: string, more: Record<string, unknown> = {}) =>
      row('reserved_domain', `rd_${name}`, {
        domain: name,
        cname_target: 'abc.cname.adit.test',
        acme_challenge_cname_target: null,
        ...more,
      })
    const zones = zonesOf([
      ingress('example.com'),
      domain('app.example.com'),
      domain('example.com'),
      domain('*.w.example.com', { acme_challenge_cname_target: 'abc.acme.adit.test' }),
      domain('app.example.org'),
      domain('plain.adit.test', { cname_target: null }),
      challenge('proof', { name: '*.w.example.com', target: 'abc.acme.adit.test' }),
    ])
    assert.deepEqual(answers(zones, 'app.example.com', 'A'), ['abc.cname.adit.test', ...HERE])
    assert.deepEqual(answers(zones, 'any.w.example.com', 'A'), ['abc.cname.adit.test', ...HERE])
    // A zone's own name cannot be an alias.
    assert.deepEqual(answers(zones, 'example.com', 'A'), HERE)
    assert.deepEqual(answers(zones, 'example.com', 'TXT'), [])
    assert.equal(answers(zones, '_acme-challenge.w.example.com', 'TXT').at(-1), proof('proof'))
    assert.equal(lookUp(zones, 'app.example.org', types.A).rcode, rcodes.refused)
  })

  test('within another one, or around the shared one, is its own zone', () => {
    const zones = zonesOf([ingress('example.com'), ingress('in.example.com'), ingress('test')])
    assert.equal(zones.zoneOf('x.in.example.com')?.apex, 'in.example.com')
    assert.equal(zones.zoneOf('x.example.com')?.apex, 'example.com')
    assert.deepEqual(answers(zones, 'any.adit.test', 'A'), HERE)
  })
})

suite('the settings', () => {
  const read = (name: string, value: string) => readSettings(new Map([[name, value]]), {})

  test('take lists of addresses and authorities', () => {
    const { public_addresses, dns_addr } = read('public_addresses', ' 192.0.2.1, 2001:DB8:0::7,192.0.2.1')
    assert.deepEqual(public_addresses, ['192.0.2.1', '2001:db8::7'])
    assert.equal(dns_addr, undefined)
    assert.deepEqual(read('caa', 'Letsencrypt.org,ca.test').caa, ['letsencrypt.org', 'ca.test'])
  })

  test('refuse what is none', () => {
    const many = Array.from({ length: 17 }, (_, n) => `192.0.2.${n}`).join(',')
    for (const value of ['', 'localhost', '192.0.2.1/24', '192.0.2.1;192.0.2.2', many])
      assert.throws(
        () => read('public_addresses', value),
        /--public-addresses must be 1 to 16 comma-separated addresses/,
      )
    for (const value of ['nonsense', 'a b.org', '"x".org'])
      assert.throws(() => read('caa', value), /--caa must be comma-separated CA names/)
  })
})

suite('the public addresses', () => {
  const on = (host: string) => ({ host, port: 443 })
  const machine = () => ({
    eth0: [
      { address: '203.0.113.9', family: 'IPv4' as const },
      { address: '8.8.4.4', family: 'IPv4' as const },
      { address: '10.0.0.4', family: 'IPv4' as const },
      { address: '2600::7', family: 'IPv6' as const },
      { address: 'fe80::1', family: 'IPv6' as const },
    ].map(each => ({ netmask: '', mac: '', internal: false, cidr: null, scopeid: 0, ...each })),
  })
  const found = (given: Partial<Parameters<typeof publicAddresses>[0]>) =>
    publicAddresses(
      { public_addresses: undefined, https_addr: undefined, http_addr: undefined, ...given },
      machine,
    )

  test('are those that are set, else those of the listener', () => {
    assert.deepEqual(found({ public_addresses: ['192.0.2.1'], https_addr: on('0.0.0.0') }), ['192.0.2.1'])
    assert.deepEqual(found({ https_addr: on('127.0.0.1') }), ['127.0.0.1'])
    assert.deepEqual(found({ http_addr: on('192.0.2.4') }), ['192.0.2.4'])
    assert.deepEqual(found({ https_addr: on('localhost') }), [])
  })

  test('of a listener on all addresses are the public ones of the machine', () => {
    assert.deepEqual(found({ https_addr: on('0.0.0.0') }), ['8.8.4.4'])
    assert.deepEqual(found({ https_addr: on('::') }), ['8.8.4.4', '2600::7'])
  })
})
