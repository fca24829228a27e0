import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { deserialize, serialize } from 'node:v8'
import { readSettings } from '#base/read-settings.ts'
import { Secret } from '#base/secrets.ts'
import { gatewayConfig } from '#cluster/gateway-config.ts'
import { openedConfig, plainConfig } from '#cluster/protocol.ts'

const settings = readSettings(
  new Map(
    Object.entries({
      oauth_github: 'ID:github-secret',
      traces_endpoint: 'http://127.0.0.1:4318',
      traces_headers: 'x-key=header-secret',
      egress_allow: '10.0.0.0/8',
      tcp_ports: '2000-3000',
      ssh_addr: 'off',
      master_key: 'ab'.repeat(32),
    }),
  ),
  {},
)
const config = gatewayConfig(
  {
    settings,
    version: '1',
    root: { certificatePem: 'certificate', privateKeyPem: new Secret('root-secret') },
    keys: {
      proofs: Buffer.from('proofs'),
      tickets: Buffer.from('tickets'),
      sshHost: new Secret('host-secret'),
    },
  },
  { node: 'w2', recentNames: ['shop.test'], bound: { http: { host: '127.0.0.1', port: 4711 } } },
)

suite('the configuration that a worker receives', () => {
  const received = openedConfig(deserialize(serialize(plainConfig(config))) as ReturnType<typeof plainConfig>)

  for (const name of Object.keys(config.info) as (keyof typeof config.info)[])
    test(`has ${name}`, () => assert.deepEqual(received.info[name], config.info[name]))

  test('has the secrets of the gateway, as secrets', () => {
    const { info, root, keys } = received
    const secrets = [
      info.oauth_github?.secret,
      info.traces_headers?.get('x-key'),
      root.privateKeyPem,
      keys.sshHost,
    ]
    for (const secret of secrets) assert.ok(secret instanceof Secret)
    assert.deepEqual(
      secrets.map(secret => secret?.reveal()),
      ['github-secret', 'header-secret', 'root-secret', 'host-secret'],
    )
    assert.deepEqual(keys.proofs, Buffer.from('proofs'))
  })

  test('has the port that the first worker opened', () => {
    assert.equal(received.info.http_addr?.port, 4711)
  })

  test('has no secret of the rest of the server', () => {
    const others = ['master_key', 'master_key_file', 'api_key', 'authtoken', 'database_url', 'data_dir']
    assert.deepEqual(
      Object.keys(received.info).filter(name => others.includes(name)),
      [],
    )
  })
})
