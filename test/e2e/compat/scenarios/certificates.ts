import assert from 'node:assert/strict'
import { checkLifecycle } from '../lifecycle.ts'
import type { Scenarios } from './index.ts'

const about = { description: 'first words', metadata: 'one' }
const update = { description: 'other words', metadata: 'two' }
const YEAR_MS = 365 * 86_400_000

export const certificates: Scenarios = {
  CertificateAuthorities: (trial, { api, authority }) =>
    checkLifecycle(trial, api, {
      create: { ...about, caPem: authority.certificate },
      made: { subjectCommonName: 'Compat CA' },
      update,
    }),

  TLSCertificates: (trial, { api, certificate }) =>
    checkLifecycle(trial, api, {
      create: { ...about, certificatePem: certificate.certificate, privateKeyPem: certificate.key },
      made: {
        privateKeyPem: undefined,
        subjectCommonName: 'www.compat.example',
        subjectAlternativeNames: { dnsNames: ['www.compat.example'], ips: [] },
        privateKeyType: 'ecdsa',
        issuedAt: null,
      },
      update,
    }),

  SSHCertificateAuthorities: (trial, { api }) =>
    checkLifecycle(trial, api, {
      create: { ...about, privateKeyType: 'ecdsa', ellipticCurve: '384' },
      made: { privateKeyType: undefined, ellipticCurve: undefined, keyType: 'ecdsa' },
      update,
    }),

  SSHUserCertificates: (trial, { api, sshKey, sshAuthorityId }) =>
    checkLifecycle(trial, api, {
      create: {
        ...about,
        sshCertificateAuthorityId: sshAuthorityId,
        publicKey: sshKey,
        principals: ['deploy', 'root'],
        criticalOptions: { 'force-command': '/bin/true' },
        extensions: { 'permit-X11-forwarding': '', 'permit-pty': '' },
        validAfter: '2030-01-02T03:04:05Z',
        validUntil: '2030-01-03T00:00:00Z',
      },
      made: {
        keyType: 'ed25519',
        criticalOptions: { forceCommand: '/bin/true' },
        extensions: { permitX11Forwarding: '', permitPty: '' },
      },
      update,
      wire: {
        created: {
          critical_options: { 'force-command': '/bin/true' },
          extensions: { 'permit-X11-forwarding': '', 'permit-pty': '' },
        },
        updated: { valid_after: '2030-01-02T03:04:05Z', valid_until: '2030-01-03T00:00:00Z' },
      },
    }),

  SSHHostCertificates: async (trial, { api, sshKey, sshAuthorityId }) => {
    const create = {
      ...about,
      sshCertificateAuthorityId: sshAuthorityId,
      publicKey: sshKey,
      principals: ['host.compat.example'],
    }
    await checkLifecycle(trial, api, {
      create: { ...create, validAfter: '2030-01-01T00:00:00Z', validUntil: '2031-01-01T00:00:00Z' },
      made: { keyType: 'ed25519' },
      update,
    })
    // The client's types ask for a Date and its code sends that as {}: the defaults apply.
    const validAfter = new Date('2040-01-01')
    const made = await trial.call('create', { ...create, validAfter, validUntil: new Date('2041-01-01') })
    assert.ok(Math.abs(Date.parse(made.validAfter) - Date.now()) < 60_000)
    assert.equal(Date.parse(made.validUntil) - Date.parse(made.validAfter), YEAR_MS)
  },
}
