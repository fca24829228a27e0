import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { readSettings } from '#base/read-settings.ts'
import { dnsRecords, domainAdvice, publicDomain } from '#domains/domain-advice.ts'

const addresses = ['198.51.100.7', '2001:db8::7']
const target = { domain: 'example.com', addresses, nameServerIps: addresses }

interface Given {
  readonly settings?: Record<string, string>
  readonly dns?: { readonly host: string; readonly port: number }
  readonly machine?: readonly string[]
}

function adviceFor({ settings = {}, dns, machine = [] }: Given): { lines: string; isWatched: boolean } {
  const read = readSettings(new Map(Object.entries({ domain: 'example.com', ...settings })), {})
  const found = publicDomain({ settings: read, dns, machine })
  return { lines: domainAdvice(found).join('\n'), isWatched: found.missing.length === 0 }
}

const open = { http_addr: '0.0.0.0:80', https_addr: '0.0.0.0:443' }
/** In columns, with whatever space between them. */
const hasRecord = (lines: string, ...record: string[]) =>
  assert.ok(
    lines.split('\n').some(line => line.trim().split(/ +/).join() === record.join()),
    `${record.join(' ')} is not in:\n${lines}`,
  )

const zoneLines = (...[domain]: Parameters<typeof dnsRecords>): string[] =>
  dnsRecords(domain).map(record => record.join(' '))

suite('the records of a domain', () => {
  test('are those of all names if another server serves DNS', () => {
    assert.deepEqual(zoneLines({ ...target, servesDns: false }), [
      'example.com A 198.51.100.7',
      'example.com AAAA 2001:db8::7',
      '*.example.com A 198.51.100.7',
      '*.example.com AAAA 2001:db8::7',
    ])
  })

  test('are two name servers with their addresses if the server serves DNS itself', () => {
    assert.deepEqual(zoneLines({ ...target, servesDns: true }), [
      'example.com NS ns1.example.com',
      'example.com NS ns2.example.com',
      'ns1.example.com A 198.51.100.7',
      'ns1.example.com AAAA 2001:db8::7',
      'ns2.example.com A 198.51.100.7',
      'ns2.example.com AAAA 2001:db8::7',
    ])
  })

  test('have for name servers only the address at which DNS is served', () => {
    const settings = readSettings(new Map([['domain', 'example.com'], ...Object.entries(open)]), {})
    const machine = ['5.5.5.5', '5.5.5.6']
    const at = (host: string) =>
      zoneLines({
        ...publicDomain({ settings, dns: { host, port: 53 }, machine }),
        addresses: machine,
      }).slice(2)
    assert.deepEqual(at('0.0.0.0').length, 4)
    assert.deepEqual(at('5.5.5.6'), ['ns1.example.com A 5.5.5.6', 'ns2.example.com A 5.5.5.6'])
  })
})

suite('the advice about a domain', () => {
  test('is to delegate it, where the server answers DNS, and how to do otherwise', () => {
    const dns = { host: '5.5.5.5', port: 53 }
    const { lines, isWatched } = adviceFor({ settings: { ...open, public_addresses: '5.5.5.5' }, dns })
    assert.match(lines, /^ {2}Delegate example\.com to this server\. Set at its registrar/)
    hasRecord(lines, 'example.com', 'NS', 'ns2.example.com')
    hasRecord(lines, 'ns2.example.com', 'A', '5.5.5.5')
    assert.match(lines, /ADIT_DNS_ADDR=off/)
    assert.ok(isWatched)
  })

  test('names the address that DNS could be bound to, never all of them', () => {
    const settings = { ...open, public_addresses: '5.5.5.5' }
    const own = adviceFor({ settings, machine: ['10.0.0.4', '5.5.5.5'] })
    assert.match(own.lines, /ADIT_DNS_ADDR=5\.5\.5\.5:53 /)
    hasRecord(own.lines, '*.example.com', 'A', '5.5.5.5')
    assert.match(adviceFor({ settings, machine: ['10.0.0.4'] }).lines, /ADIT_DNS_ADDR=10\.0\.0\.4:53 /)
    for (const { lines } of [own, adviceFor({ settings }), adviceFor({ settings: open })])
      assert.doesNotMatch(lines, /DNS_ADDR=0\.0\.0\.0/)
  })

  test('is the records and the listeners to open, where only this machine reaches them', () => {
    const { lines, isWatched } = adviceFor({ machine: ['5.5.5.5'] })
    assert.match(lines, /example\.com cannot be reached yet: these listen only on this machine/)
    assert.match(
      lines,
      /^ +ADIT_HTTP_ADDR=0\.0\.0\.0:80 ADIT_HTTPS_ADDR=0\.0\.0\.0:443 ADIT_AGENT_ADDR=0\.0\.0\.0:4443$/m,
    )
    hasRecord(lines, 'example.com', 'A', '5.5.5.5')
    assert.ok(!isWatched)
    const mixed = adviceFor({
      settings: { ...open, agent_addr: '0.0.0.0:4443' },
      dns: { host: '127.0.0.1', port: 53 },
      machine: ['5.5.5.5'],
    })
    assert.match(mixed.lines, /^ +ADIT_DNS_ADDR=5\.5\.5\.5:53$/m)
    assert.ok(!mixed.isWatched)
  })

  test('is the records and the setting for the address, behind NAT', () => {
    for (const settings of [open, { https_addr: '10.0.0.4:443', http_addr: 'off' }]) {
      const { lines, isWatched } = adviceFor({ settings, machine: ['10.0.0.4'] })
      assert.match(lines, /no public address/)
      assert.match(lines, /^ +ADIT_PUBLIC_ADDRESSES=ADDRESS$/m)
      assert.doesNotMatch(lines, /only on this machine|Listeners that are not configured/)
      hasRecord(lines, 'example.com', 'NS', 'ns1.example.com')
      hasRecord(lines, 'ns1.example.com', 'A', 'ADDRESS')
      hasRecord(lines, '*.example.com', 'A', 'ADDRESS')
      assert.ok(!isWatched)
    }
    assert.match(
      adviceFor({ machine: ['10.0.0.4'] }).lines,
      /Listeners that are not configured are then open/,
    )
    // An operator who sets the address knows what is in front of the listeners.
    const reported = adviceFor({ settings: { public_addresses: '5.5.5.5' }, machine: ['10.0.0.4'] })
    assert.doesNotMatch(reported.lines, /cannot be reached yet/)
    assert.ok(reported.isWatched)
  })

  test('is nothing for names of this machine, and takes private addresses for names that are not public', () => {
    assert.equal(adviceFor({ settings: { domain: 'adit.localhost' } }).lines, '')
    const settings = { domain: 'tunnels.corp', http_addr: '10.0.0.4:80', https_addr: '10.0.0.4:443' }
    const { lines, isWatched } = adviceFor({ settings })
    hasRecord(lines, 'tunnels.corp', 'A', '10.0.0.4')
    assert.ok(isWatched)
    const hidden = adviceFor({ settings: { domain: 'tunnels.corp' } })
    assert.match(hidden.lines, /ADIT_HTTPS_ADDR=0\.0\.0\.0:443/)
    assert.ok(!hidden.isWatched)
  })
})
