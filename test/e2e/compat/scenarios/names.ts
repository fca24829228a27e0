import assert from 'node:assert/strict'
import { checkLifecycle } from '../lifecycle.ts'
import type { Scenarios } from './index.ts'

const about = { description: 'first words', metadata: 'one' }
const update = { description: 'other words', metadata: 'two' }
const managed = { authority: 'letsencrypt', privateKeyType: 'ecdsa' }

/** Names and ports that are kept for the account. */
export const names: Scenarios = {
  AgentIngresses: (trial, { api }) =>
    checkLifecycle(trial, api, {
      create: { ...about, domain: 'agents.compat.example', certificateManagementPolicy: managed },
      made: {
        nsTargets: ['ns1.adit.localhost', 'ns2.adit.localhost'],
        regionDomains: ['tunnel.us.agents.compat.example'],
      },
      update: { ...update, certificateManagementPolicy: { ...managed, privateKeyType: 'rsa' } },
    }),

  ReservedAddrs: (trial, { api }) =>
    checkLifecycle(trial, api, { create: { ...about, region: 'eu' }, update }),

  ReservedDomains: async (trial, { api, certificateId, ref }) => {
    await checkLifecycle(trial, api, {
      create: { ...about, domain: 'www.compat.example', region: 'us', certificateId },
      made: { certificateId: undefined, certificate: ref('/tls_certificates', certificateId) },
      update: { ...update, certificateManagementPolicy: managed },
      updated({ certificateManagementStatus }) {
        // The server of these tests has no CA, and reports that.
        const { renewsAt, provisioningJob: job } = certificateManagementStatus
        assert.deepEqual([renewsAt, job.errorCode, typeof job.startedAt], [null, 'INTERNAL_ERROR', 'string'])
        return { certificate: null, certificateManagementStatus }
      },
    })
    const uploaded = await trial.call('create', { domain: 'uploaded.compat.example', certificateId })
    await trial.works('deleteCertificate', [uploaded.id], async () => {
      assert.equal((await trial.call('get', uploaded.id)).certificate, null)
    })
    const issued = await trial.call('create', {
      domain: 'issued.compat.example',
      certificateManagementPolicy: managed,
    })
    assert.deepEqual(issued.certificateManagementPolicy, managed)
    await trial.works('deleteCertificateManagementPolicy', [issued.id], async () => {
      assert.equal((await trial.call('get', issued.id)).certificateManagementPolicy, null)
    })
  },
}
