import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { startServer } from '../support/server.ts'
import { FakeAuthority } from './fake-authority.ts'

suite('a server that may issue certificates', () => {
  test('calls no CA for names under the shared domain', async () => {
    await using authority = await FakeAuthority.start()
    const { directory, rootFile } = authority
    await using server = await startServer({ acme_directory: directory, acme_ca_file: rootFile })
    const { body } = await server.api.post('/reserved_domains', { name: 'mine' })
    assert.equal(body.certificate_management_status, null)
    assert.deepEqual(authority.messages, [])
  })

  test('does not start with roots that cannot be read', async () => {
    const started = startServer({ acme_directory: 'https://127.0.0.1:9', acme_ca_file: import.meta.filename })
    await assert.rejects(started, {
      name: 'StartError',
      message: /^ADIT_ACME_CA_FILE: .* cannot be used: The text has no PEM block/,
    })
  })
})
