import assert from 'node:assert/strict'
import { checkLifecycle } from '../lifecycle.ts'
import type { Scenarios } from './index.ts'

const about = { description: 'first words', metadata: '{"team":"compat"}' }
const update = { description: 'other words', metadata: '' }
const shownOnce = { token: null }

/** Who may use the account, and from where. */
export const access: Scenarios = {
  APIKeys: (trial, { api, botId }) =>
    checkLifecycle(trial, api, { create: { ...about, ownerId: botId }, readBack: shownOnce, update }),

  BotUsers: (trial, { api }) =>
    checkLifecycle(trial, api, {
      create: { name: 'Deploy bot', active: true },
      update: { name: 'Retired bot', active: false },
    }),

  Credentials: (trial, { api, botId }) =>
    checkLifecycle(trial, api, {
      create: { ...about, acl: ['bind:*.compat.example'], ownerId: botId },
      readBack: shownOnce,
      update: { ...update, acl: ['bind:team=red', 'bind:1.tcp.compat.example:10321'] },
    }),

  SSHCredentials: (trial, { api, sshKey }) =>
    checkLifecycle(trial, api, {
      create: { ...about, acl: [], publicKey: sshKey },
      update: { ...update, acl: ['bind:compat.example'] },
    }),

  IPPolicies: (trial, { api }) => checkLifecycle(trial, api, { create: about, update }),

  IPPolicyRules: (trial, { api, policies, ref }) =>
    checkLifecycle(trial, api, {
      create: { ...about, cidr: '10.0.0.0/8', ipPolicyId: policies[0], action: 'deny' },
      made: { ipPolicyId: undefined, ipPolicy: ref('/ip_policies', policies[0]) },
      update: { ...update, cidr: '2001:db8::/32' },
    }),

  IPRestrictions: (trial, { api, policies, ref }) =>
    checkLifecycle(trial, api, {
      create: { ...about, enforced: true, type: 'agent', ipPolicyIds: policies },
      made: { ipPolicyIds: undefined, ipPolicies: policies.map(id => ref('/ip_policies', id)) },
      update: { ...update, enforced: false, ipPolicyIds: [policies[1]] },
      updated: { ipPolicyIds: undefined, ipPolicies: [ref('/ip_policies', policies[1])] },
    }),

  AbuseReports: async trial => {
    const urls = ['https://bad.compat.example/login', 'http://worse.compat.example/']
    const report = await trial.works('create', [{ urls, metadata: 'case 7' }], value => {
      assert.partialDeepStrictEqual(value, {
        urls,
        metadata: 'case 7',
        status: 'PENDING',
        hostnames: [
          { hostname: 'bad.compat.example', status: 'PENDING' },
          { hostname: 'worse.compat.example', status: 'PENDING' },
        ],
      })
    })
    await trial.works('get', [report.id], value => assert.deepStrictEqual(value, report))
  },
}
