import assert from 'node:assert/strict'
import type { Value } from '../client.ts'
import { checkLifecycle } from '../lifecycle.ts'
import type { Scenarios } from './index.ts'

const about = { description: 'first words', metadata: 'one' }
const update = { description: 'other words', metadata: 'two' }
const debug = { debug: {} }
const [policyMade, policyGone] = ['ip_policy_created.v0', 'ip_policy_deleted.v0']

const datadog = { apiKey: 'key', ddtags: 'env:prod', service: 'adit', ddsite: 'datadoghq.eu' }
/** Every kind of target is there in an answer; all but one are null. */
const otherTargets = Object.fromEntries(
  'firehose kinesis cloudwatchLogs azureLogsIngestion webhook otlp syslog file debug'
    .split(' ')
    .map(name => [name, null]),
)

export const events: Scenarios = {
  EventDestinations: (trial, { api }) =>
    checkLifecycle(trial, api, {
      create: { ...about, format: 'json', target: { datadog } },
      made: { target: { datadog: { ...datadog, apiKey: '' } } },
      update: { ...update, format: 'json', target: { datadog: { ...datadog, service: 'other' } } },
      updated: { target: { ...otherTargets, datadog: { ...datadog, apiKey: '', service: 'other' } } },
    }),

  EventSubscriptions: async (trial, { api, make, ref }) => {
    const { id } = await make('/event_destinations', { target: debug })
    const { id: other } = await make('/event_destinations', { target: debug })
    await checkLifecycle(trial, api, {
      create: { ...about, sources: [{ type: policyMade }, { type: policyGone }], destinationIds: [id] },
      made: { destinationIds: undefined, destinations: [ref('/event_destinations', id)] },
      update: { ...update, destinationIds: [other, id] },
      updated: {
        destinationIds: undefined,
        destinations: [ref('/event_destinations', other), ref('/event_destinations', id)],
      },
    })
  },

  EventSources: async (trial, { make }) => {
    const subscription = await make('/event_subscriptions', { sources: [{ type: policyGone }] })
    const list = { subscriptionId: subscription.id }
    const source = { ...list, type: policyMade }
    const expected = { type: policyMade, uri: `${subscription.uri}/sources/${policyMade}` }
    const types = async () =>
      (await trial.call('list', list)).sources.map(({ type }: Value) => type) as string[]

    await trial.works('create', [source], async value => {
      assert.deepStrictEqual(value, expected)
      assert.deepEqual(await types(), [policyGone, policyMade])
    })
    await trial.works('get', [source], value => assert.deepStrictEqual(value, expected))
    await trial.works('list', [list], ({ sources }) => assert.deepStrictEqual(sources[1], expected))
    await trial.works('update', [source], value => assert.deepStrictEqual(value, expected))
    await trial.works('delete', [source], async () => {
      await trial.rejects404('get', source)
      assert.deepEqual(await types(), [policyGone])
    })
  },
}
