import { checkLifecycle } from '../lifecycle.ts'
import type { Scenarios } from './index.ts'

const about = { description: 'first words', metadata: 'one' }
const update = { description: 'other words', metadata: 'two' }

/** How the client spells an id when it is the key of a map in an answer. */
const asKey = (id: string): string => id.replace('_', '')

export const backends: Scenarios = {
  FailoverBackends: (trial, { api, backends: ids }) =>
    checkLifecycle(trial, api, {
      create: { ...about, backends: ids },
      update: { ...update, backends: ids.toReversed() },
    }),

  HTTPResponseBackends: (trial, { api }) =>
    checkLifecycle(trial, api, {
      create: {
        ...about,
        body: 'hello\n',
        headers: { 'X-GitHub-Event': 'push', 'content-type': 'text/plain' },
        statusCode: 418,
      },
      made: { headers: { xGithubEvent: 'push', contentType: 'text/plain' } },
      update: { ...update, body: '', headers: { ETag: '"7"' }, statusCode: 204 },
      updated: { headers: { etag: '"7"' } },
      wire: {
        created: { headers: { 'x-github-event': 'push', 'content-type': 'text/plain' } },
        updated: { headers: { etag: '"7"' } },
      },
    }),

  StaticBackends: (trial, { api }) =>
    checkLifecycle(trial, api, {
      create: { ...about, address: 'db.compat.example:5432', tls: { enabled: true } },
      update: { ...update, address: '127.0.0.1:8080', tls: { enabled: false } },
    }),

  TunnelGroupBackends: (trial, { api }) =>
    checkLifecycle(trial, api, {
      create: { ...about, labels: { env: 'prod', Team: 'red', cost_center_no: '7' } },
      made: { labels: { env: 'prod', Team: 'red', costCenterNo: '7' }, tunnels: [] },
      update: { ...update, labels: { env: 'test' } },
      wire: {
        created: { labels: { env: 'prod', Team: 'red', cost_center_no: '7' } },
        updated: { labels: { env: 'test' } },
      },
    }),

  WeightedBackends: (trial, { api, backends: [one, other] }) =>
    checkLifecycle(trial, api, {
      create: { ...about, backends: { [one]: 70, [other]: 30 } },
      made: { backends: { [asKey(one)]: 70, [asKey(other)]: 30 } },
      update: { ...update, backends: { [other]: 10_000 } },
      updated: { backends: { [asKey(other)]: 10_000 } },
      wire: {
        created: { backends: { [one]: 70, [other]: 30 } },
        updated: { backends: { [other]: 10_000 } },
      },
    }),
}
