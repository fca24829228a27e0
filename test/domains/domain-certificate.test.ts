import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { suite, test } from 'node:test'
import { create } from '#api/writing.ts'
import { tlsCertificate } from '#contract/kinds/tls-certificate.ts'
import { certificateOf } from '#domains/shared-domain.ts'
import { World } from '../acme/world.ts'
import { issueCertificate } from '../tls/test-certificates.ts'

const place = { directory: 'off', rootFile: import.meta.filename, dns: '127.0.0.1:9' }
const name = 'shop.example.org'
const job = {
  error_code: null,
  msg: 'The certificate is being ordered.',
  started_at: '2026-11-15T14:00:00Z',
  retries_at: null,
}

suite('the status of the certificate of a name', () => {
  test('is not known of a name that is not reserved', async () => {
    await using world = await World.open(place)
    assert.equal(await certificateOf(name, world.store), undefined)
  })

  test('is shown as in its status, without terminal control characters', async () => {
    await using world = await World.open(place)
    const { id } = await world.reserve(name)
    const standing = async (change: Partial<Record<keyof typeof job, string | null>> | null) => {
      const provisioning_job = change && { ...job, ...change }
      await world.rewrite(id, { certificate_management_status: { renews_at: null, provisioning_job } })
      return certificateOf(name, world.store)
    }
    assert.deepEqual(await standing(null), { is: 'waiting', text: 'about to be ordered.' })
    assert.deepEqual(await standing({}), { is: 'waiting', text: 'being ordered.' })
    const later = '2026-11-15T15:00:00Z'
    const busy = { error_code: 'INTERNAL_ERROR', msg: 'The authority is \u001b[31mbusy\n', retries_at: later }
    assert.deepEqual(await standing(busy), {
      is: 'waiting',
      text: `The authority is [31mbusy. Next attempt at ${later}.`,
    })
    const missing = { error_code: 'DNS_ERROR', msg: 'Set it.', retries_at: later }
    assert.deepEqual(await standing(missing), {
      is: 'waiting',
      text: `Set it. Next attempt at ${later}.`,
      looksAt: later,
    })
  })

  test('is there with any certificate that serves it, and not expected where none is configured', async () => {
    await using world = await World.open(place)
    const { id } = await world.reserve(name)
    const to = Date.parse('2030-01-02T00:00:00Z')
    const { pem, keyPem } = await issueCertificate({ name, to, from: to - 86_400_000 })
    const body = { certificate_pem: pem, private_key_pem: keyPem }
    const made = await create(tlsCertificate, body, null, world.call)
    await world.rewrite(id, { certificate: made.id })
    const found = await certificateOf(name, world.store)
    assert.ok(found?.is === 'there')
    assert.equal(found.fingerprint, new X509Certificate(pem).fingerprint256)
    assert.match(found.text, /^issued.*, valid until 2030-01-02\.$/)
    await world.rewrite(id, { certificate: null, certificate_management_policy: null })
    assert.equal(await certificateOf(name, world.store), undefined)
  })
})
