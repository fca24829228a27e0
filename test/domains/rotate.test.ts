import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { createResource } from '../support/each-store.ts'
import { runAdit, startServer } from '../support/server.ts'
import { Pebble } from '../acme/pebble.ts'
import { freePorts } from '../support/free-ports.ts'
import { ISSUING } from '../acme/world.ts'
import { until } from '../support/until.ts'
import { Folder } from '../support/folder.ts'

const HOST = '127.0.0.1'

suite('adit rotate acme-account', () => {
  test('changes the key of the account while the server runs, and certificates are issued', async () => {
    const [httpPort = 0] = await freePorts(1)
    await using pebble = await Pebble.start({ httpPort })
    await using server = await startServer({
      domain: 'base.test',
      http_addr: `${HOST}:${httpPort}`,
      acme_directory: pebble.directory,
      acme_ca_file: pebble.rootFile,
      acme_dns: pebble.dns,
      public_addresses: HOST,
      egress_allow: '127.0.0.0/8',
    })
    const issue = async (domain: string): Promise<void> => {
      await pebble.configure('add-a', { host: `${domain}.`, addresses: [HOST] })
      const policy = { authority: 'letsencrypt', private_key_type: 'ecdsa' }
      const wish = { domain, certificate_management_policy: policy }
      const { id } = await createResource(server.api, '/reserved_domains', wish)
      await until(
        async () => (await server.api.get(`/reserved_domains/${id}`)).body.certificate !== null,
        ISSUING,
      )
    }
    const changes = () => pebble.logged.filter(line => line.includes('POST /rollover-account-key')).length
    await issue('one.example.com')
    const environment = { ADIT_ACME_DIRECTORY: pebble.directory }
    const done = await runAdit(['rotate', 'acme-account', '--data-dir', server.dataDir], environment)
    assert.equal(done.code, 0, done.stderr)
    assert.match(done.stdout, /^The ACME account has a new key/)
    assert.equal(changes(), 1)
    await issue('two.example.com')
    assert.equal(pebble.logged.filter(line => /There are now \d+ accounts/.test(line)).length, 1)
  })

  test('fails when there is no authority, or no data folder', async () => {
    using folder = new Folder()
    const off = await runAdit(['rotate', 'acme-account', '--data-dir', folder.path])
    assert.deepEqual([off.code, off.stderr], [1, 'adit: there is no ACME account: acme_directory is off\n'])
    const nowhere = await runAdit(['rotate', 'acme-account', '--data-dir', folder.file('none')], {
      ADIT_ACME_DIRECTORY: 'https://acme.example.com/directory',
    })
    assert.equal(nowhere.code, 1)
    assert.match(nowhere.stderr, /^adit: .*rotate-acme-account cannot be written: ENOENT/)
  })
})
