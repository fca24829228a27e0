import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { readSettings, variableOf } from '#base/read-settings.ts'
import { settings, type Settings } from '#base/settings.ts'

const run = promisify(execFile)
const folder = join(import.meta.dirname, '../deploy')
const read = (path: string): string => readFileSync(join(folder, path), 'utf8')

interface Service {
  readonly image?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly ports?: readonly string[]
  readonly networks?: readonly string[] | Readonly<Record<string, { readonly ipv4_address: string }>>
  readonly [key: string]: unknown
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
}

const compose = (path: string): Compose => parse(read(path), { uniqueKeys: true, merge: true }) as Compose
const cluster = compose('compose.cluster.yaml')

/** What an operator sets for the compose files. */
const env: Readonly<Record<string, string>> = {
  ADIT_DOMAIN: 'tunnels.example.com',
  ADIT_PUBLIC_ADDRESSES: '203.0.113.10',
  ADIT_ACME_EMAIL: 'admin@example.com',
  ADIT_MASTER_KEY: '0f'.repeat(32),
  MACHINE_ADDRESS: '203.0.113.10',
  POSTGRES_PASSWORD: 'secret',
}

const interpolated = (text: string): string =>
  text.replaceAll(/\$\{(\w+)(?::[-?][^}]*)?\}/g, (_, name: string) => env[name] ?? assert.fail(name))

const [, imageLine = ''] = /^ENV (.*)$/m.exec(read('Dockerfile').replaceAll('\\\n', ' ')) ?? []
const inImage = Object.fromEntries(
  [...imageLine.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
)

/** The settings of a container with these variables, as the program reads them. */
const settled = (...given: readonly (Readonly<Record<string, string>> | undefined)[]): Settings => {
  const all = Object.entries<string>(Object.assign({}, inImage, ...given))
  return readSettings(new Map(), Object.fromEntries(all.map(([name, value]) => [name, interpolated(value)])))
}

const target = (mapping: string): string =>
  mapping
    .replace(/\/(udp|tcp)$/, '')
    .split(':')
    .at(-1) ?? ''

test('every variable in the files is a setting', () => {
  const known = new Set([...Object.keys(settings).map(variableOf), 'ADIT_CONFIG'])
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(each => each.isFile())
  assert.ok(files.length > 15)
  for (const { parentPath, name } of files)
    for (const [variable] of readFileSync(join(parentPath, name), 'utf8').matchAll(/\bADIT_[A-Z_]+/g))
      assert.ok(known.has(variable), `${variable} in ${name}`)
})

suite('the compose files for one machine', () => {
  const base = compose('compose.yaml').services['adit']
  const added = compose('compose.public.yaml').services['adit']
  const host = compose('compose.host.yaml').services['adit']

  test('set values that the settings take', () => {
    const withPostgres = compose('compose.postgres.yaml').services['adit']
    const { data_dir, public_http_port, public_https_port, database_url } = settled(
      base?.environment,
      withPostgres?.environment,
    )
    assert.equal(data_dir, '/data')
    assert.deepEqual([public_http_port, public_https_port], [80, 443])
    assert.equal(database_url, 'postgresql://adit:secret@database/adit')
  })

  test('obtain certificates: address, contact, and DNS on port 53', () => {
    const { dns_addr, public_addresses, acme_email } = settled(base?.environment, added?.environment)
    assert.deepEqual([public_addresses, acme_email], [['203.0.113.10'], 'admin@example.com'])
    assert.deepEqual(
      added?.ports?.map(interpolated),
      ['udp', 'tcp'].map(protocol => `203.0.113.10:53:${dns_addr?.port}/${protocol}`),
    )
  })

  test('listen on the public ports themselves in the network of the host, and the API on loopback', () => {
    const { http_addr, https_addr, dns_addr, api_addr, agent_addr } = settled(host?.environment)
    assert.equal(host?.['network_mode'], 'host')
    assert.deepEqual([host?.ports, host?.['sysctls']], [undefined, undefined])
    assert.deepEqual([http_addr?.port, https_addr?.port, agent_addr?.port], [80, 443, 4443])
    assert.deepEqual(dns_addr, { host: '203.0.113.10', port: 53 })
    assert.equal(api_addr?.host, '127.0.0.1')
    for (const key of ['build', 'read_only', 'cap_drop', 'security_opt', 'stop_grace_period', 'volumes'])
      assert.deepEqual(host?.[key], base?.[key], key)
  })
})

suite('the compose file of a cluster', () => {
  const names = ['node1', 'node2', 'node3']
  const balancer = cluster.services['haproxy']
  const config = read('haproxy.cfg')

  test('has three nodes on one database, which reach each other and trust the load balancer only', () => {
    const networks = balancer?.networks as Readonly<Record<string, { readonly ipv4_address: string }>>
    for (const name of names) {
      const node = cluster.services[name]
      const { peer_addr, peer_url, proxy_protocol, trusted_proxies, drain_wait } = settled(node?.environment)
      assert.deepEqual(peer_url, { host: name, port: peer_addr?.port })
      assert.deepEqual(proxy_protocol, trusted_proxies)
      assert.equal(node?.environment?.['ADIT_PROXY_PROTOCOL'], `${networks['nodes']?.ipv4_address}/32`)
      assert.equal(node?.ports, undefined)
      assert.equal(node?.['read_only'], true)
      assert.ok(Number.parseInt(String(node?.['stop_grace_period']), 10) > drain_wait + 25)
    }
  })

  test('has a configuration of HAProxy that HAProxy accepts', async () => {
    const { stdout, stderr } = await run('/usr/sbin/haproxy', ['-c', '-f', join(folder, 'haproxy.cfg')])
    assert.doesNotMatch(stdout + stderr, /WARNING|ALERT/)
  })

  test('forwards every published port to that listener of each node, with a PROXY header unless it is HTTP', () => {
    const { http_addr, https_addr, agent_addr, ssh_addr, api_addr } = settled(
      cluster.services['node1']?.environment,
    )
    const targets: Readonly<Record<string, string>> = {
      80: `:${http_addr?.port}`,
      443: `:${https_addr?.port}`,
      4443: `:${agent_addr?.port}`,
      2222: `:${ssh_addr?.port}`,
      4600: `:${api_addr?.port}`,
      '20000-20099': '',
    }
    const sections = config.split(/^listen /m).slice(1)
    const bound = sections.map(section => {
      const [, port = ''] = /^ {2}bind :(\S+)$/m.exec(section) ?? []
      const suffix = /^ {2}mode http$/m.test(section) ? '' : ' send-proxy-v2'
      assert.deepEqual(
        [...section.matchAll(/^ {2}server (.*)$/gm)].map(match => match[1]),
        names.map(name => `${name} ${name}${targets[port]}${suffix}`),
      )
      return port
    })
    assert.deepEqual(bound.toSorted(), balancer?.ports?.map(target).toSorted())
    assert.ok(config.includes(`check port ${api_addr?.port}`))
  })
})
