import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { suite, test } from 'node:test'
import { machineAddresses } from '#base/machine-addresses.ts'
import { publicDefaults } from '#base/public-defaults.ts'
import { isPublicName } from '#base/public-suffix.ts'
import { readSettings } from '#base/read-settings.ts'
import { cannotListen } from '#base/listen-on.ts'

const read = (given: Record<string, string>, machine: readonly string[], environment = {}) =>
  readSettings(new Map(Object.entries(given)), environment, (settled, isGiven) =>
    publicDefaults(settled, isGiven, machine),
  )

const listeners = (given: Record<string, string>, machine: readonly string[]) => {
  const { http_addr, https_addr, agent_addr, ssh_addr, dns_addr, api_addr, tcp_host } = read(given, machine)
  const shown = [http_addr, https_addr, agent_addr, ssh_addr, dns_addr, api_addr].map(
    each => each && `${each.host} ${each.port}`,
  )
  return [...shown, tcp_host]
}

const usual = ['127.0.0.1 8080', '127.0.0.1 8443', '127.0.0.1 4443', '127.0.0.1 2222', undefined]
const usualRest = ['127.0.0.1 4600', '127.0.0.1']
const open = ['0.0.0.0 80', '0.0.0.0 443', '0.0.0.0 4443', '0.0.0.0 2222']
const domain = 'example.com'

suite('default listeners', () => {
  test('are public under a public name on a machine with a public address; the API is not', () => {
    const machine = ['10.0.0.4', '5.5.5.5', '2600::7']
    assert.deepEqual(listeners({ domain }, machine), [...open, '5.5.5.5 53', '127.0.0.1 4600', '0.0.0.0'])
  })

  test('stay on loopback without a public name, or without a public address', () => {
    for (const name of ['adit.localhost', 'adit.test', 'tunnels.corp', 'co.uk', 'x.home.arpa', 'a.internal'])
      assert.deepEqual(listeners({ domain: name }, ['5.5.5.5']), [...usual, ...usualRest], name)
    for (const machine of [[], ['10.0.0.4', '192.168.1.1', 'fd00::2'], ['192.0.2.2']])
      assert.deepEqual(listeners({ domain }, machine), [...usual, ...usualRest])
    assert.deepEqual(listeners({ domain, public_addresses: '127.0.0.1' }, ['10.0.0.4']), [
      ...usual,
      ...usualRest,
    ])
  })

  test('do not include DNS if HTTP or HTTPS is set', () => {
    for (const name of ['http_addr', 'https_addr'])
      assert.equal(listeners({ domain, [name]: '0.0.0.0:9000' }, ['5.5.5.5'])[4], undefined, name)
    assert.equal(listeners({ domain, http_addr: '0.0.0.0:80', dns_addr: '5.5.5.5:53' }, [])[4], '5.5.5.5 53')
  })

  test('are public behind NAT if the address is configured; DNS is bound to an address of the machine', () => {
    const given = { domain, public_addresses: '5.5.5.5' }
    assert.equal(listeners(given, ['10.0.0.4', '10.0.0.5'])[4], '10.0.0.4 53')
    assert.equal(
      listeners({ ...given, public_addresses: '10.0.0.5,5.5.5.5' }, ['10.0.0.4', '10.0.0.5'])[4],
      '10.0.0.5 53',
    )
    assert.deepEqual(listeners(given, []), [...open, undefined, '127.0.0.1 4600', '0.0.0.0'])
  })

  test('use IPv6 if the machine has no public IPv4 address', () => {
    assert.deepEqual(listeners({ domain }, ['10.0.0.4', '2600::7']), [
      ':: 80',
      ':: 443',
      ':: 4443',
      ':: 2222',
      '2600::7 53',
      '127.0.0.1 4600',
      '::',
    ])
  })

  test('do not replace configured ones', () => {
    const given = { domain, http_addr: '127.0.0.1:8080', dns_addr: 'off', tcp_host: '10.0.0.4' }
    assert.deepEqual(listeners(given, ['5.5.5.5']), [
      '127.0.0.1 8080',
      '0.0.0.0 443',
      '0.0.0.0 4443',
      '0.0.0.0 2222',
      undefined,
      '127.0.0.1 4600',
      '10.0.0.4',
    ])
    const { ssh_addr: ssh, https_addr: https } = read({}, ['5.5.5.5'], {
      ADIT_DOMAIN: domain,
      ADIT_SSH_ADDR: 'off',
    })
    assert.deepEqual([ssh, https], [undefined, { host: '0.0.0.0', port: 443 }])
    // Programs and tests on this machine keep working.
    assert.equal(readSettings(new Map([['domain', domain]]), {}).http_addr?.port, 8080)
  })
})

test('gateway processes are as many as processors on a public machine, unless it is a node of a cluster', () => {
  const processors = Math.min(availableParallelism(), 64)
  assert.equal(read({ domain }, ['5.5.5.5']).workers, processors)
  assert.equal(read({ domain, workers: '3' }, ['5.5.5.5']).workers, 3)
  assert.equal(read({ domain, peer_addr: '10.0.0.4:4500' }, ['5.5.5.5']).workers, 1)
  assert.equal(read({ domain: 'adit.localhost' }, ['5.5.5.5']).workers, 1)
})

test('public names are registrable domains and names below them', () => {
  for (const name of ['example.com', 'a.b.example.co.uk', 'me.github.io']) assert.ok(isPublicName(name), name)
  for (const name of ['com', 'co.uk', 'github.io', 'x.onion', 'shop.example', 'printer.local', 'a.lan'])
    assert.ok(!isPublicName(name), name)
})

test('the addresses of a machine are those that others can reach', () => {
  const at = (...addresses: string[]) =>
    addresses.map(address => ({
      address,
      netmask: '',
      mac: '',
      internal: false,
      cidr: null,
      family: 'IPv6' as const,
      scopeid: 0,
    }))
  const found = machineAddresses(() => ({
    lo: at('127.0.0.1', '::1'),
    eth0: at('10.0.0.4', 'fe80::1', '169.254.1.1', '2600::7'),
  }))
  assert.deepEqual(found, ['10.0.0.4', '2600::7'])
})

test('a listener that cannot be opened names its setting and what to do', () => {
  const at = { host: '5.5.5.5', port: 53 }
  const message = (code: string) =>
    cannotListen(Object.assign(new Error('strange'), { code }), at, 'ADIT_DNS_ADDR').message
  assert.match(
    message('EACCES'),
    /5\.5\.5\.5:53 \(ADIT_DNS_ADDR\): this user may not .* CAP_NET_BIND_SERVICE, /,
  )
  assert.match(message('EADDRINUSE'), /uses it; stop that program, set ADIT_DNS_ADDR=HOST:PORT/)
  for (const code of ['EACCES', 'EADDRINUSE', 'EADDRNOTAVAIL', 'EIO'])
    assert.match(message(code), /, or ADIT_DNS_ADDR=off to disable it$/)
})
