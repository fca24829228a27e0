import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import type { ResourceBody } from '#contract/body.ts'
import { eventTarget } from '#contract/kinds/event-target.ts'
import { assertRefused, createResource } from '../support/each-store.ts'
import { targetUrls } from '../support/secret-bodies.ts'
import { findSecret } from '../support/secrets.ts'
import { spawnServer, type Caller, type Process } from '../support/server.ts'
import { awsEnvironment, startAws } from './vendors/aws.ts'
import { startAzure, startDatadog } from './vendors/clouds.ts'
import { startOtlp, startSyslog, startWebhook } from './vendors/receivers.ts'
import { readEvent, type ReceivedEvent, type Stage, type Vendor } from './vendors/vendor.ts'
import { until } from '../support/until.ts'
import { newFolder } from '../support/folder.ts'

const names = Object.keys(eventTarget).toSorted()

/** These stay on the machine, and need no credentials. */
const withoutCredentials = new Set(['debug', 'file'])

suite('each target of events, through the API of a server', () => {
  const stage: Stage = { stack: new AsyncDisposableStack(), endpoints: new Map() }
  const dataDir = newFolder()
  const rootFile = join(newFolder(), 'root.pem')
  let vendors: Map<string, Vendor>
  let server: Process
  let api: Caller

  /** The lines of a text that are events. */
  const eventsIn = (text: string): ReceivedEvent[] =>
    text
      .split('\n')
      .filter(line => line.startsWith('{"event_id"'))
      .map(readEvent)

  const local: Vendor[] = [
    {
      name: 'file',
      target: { path: 'all/events.jsonl' },
      shown: { path: 'all/events.jsonl' },
      arrived: () => eventsIn(readFileSync(join(dataDir, 'events/all/events.jsonl'), 'utf8')),
    },
    { name: 'debug', target: {}, shown: {}, arrived: () => eventsIn(server.output()) },
  ]

  before(async () => {
    const started = [
      ...(await startAws(stage)),
      await startDatadog(stage),
      await startAzure(stage),
      await startWebhook(stage),
      await startOtlp(stage),
      await startSyslog(stage, pem => writeFileSync(rootFile, pem)),
    ]
    vendors = new Map([...started, ...local].map(vendor => [vendor.name, vendor]))
    server = await spawnServer(dataDir, {
      ADIT_EVENT_ENDPOINTS: [...stage.endpoints].map(([name, url]) => `${name}=${url}`).join(),
      ADIT_EGRESS_ALLOW: '127.0.0.0/8',
      NODE_EXTRA_CA_CERTS: rootFile,
      ...awsEnvironment,
    })
    api = server.api
  })
  after(async () => {
    // This searches everything that the server printed and stored for secrets.
    assert.equal(await server.end('SIGTERM'), 0)
    await stage.stack.disposeAsync()
    for (const folder of [dataDir, join(rootFile, '..')]) rmSync(folder, { recursive: true })
  })

  test('has a vendor', () => {
    assert.deepEqual([...vendors.keys()].toSorted(), names)
  })

  for (const name of names) {
    const vendorOf = () => vendors.get(name) ?? assert.fail(`no vendor for ${name}`)
    const destination = async (target: ResourceBody): Promise<string> =>
      (await createResource(api, '/event_destinations', { target: { [name]: target } })).id

    test(`${name} gets a test event and then what changes, with valid credentials`, async () => {
      const vendor = vendorOf()
      const id = await destination(vendor.target)
      assert.equal((await api.post(`/event_destinations/${id}/test`)).status, 204)
      await until(() => vendor.arrived().length > 0)
      const [tried, ...others] = vendor.arrived()
      assert.deepEqual([tried?.event_type, others], ['test.v0', []])

      const sources = [{ type: 'ip_policy_created.v0' }, { type: 'ip_policy_deleted.v0' }]
      const subscription = await createResource(api, '/event_subscriptions', {
        sources,
        destination_ids: [id],
      })
      const policy = await createResource(api, '/ip_policies', { description: `for ${name} — ä"` })
      assert.equal((await api.patch(`/ip_policies/${policy.id}`, { metadata: 'not subscribed' })).status, 200)
      assert.equal((await api.delete(`/ip_policies/${policy.id}`)).status, 204)
      await until(() => vendor.arrived().length > 2)
      assert.equal((await api.delete(`/event_subscriptions/${subscription.id}`)).status, 204)

      const { audit_events: reported } = (await api.get(`/audit_events?object_id=${policy.id}`)).body
      const [deleted, , created] = reported
      assert.deepEqual(
        vendor.arrived().slice(1),
        [created, deleted].map(event => ({
          event_id: event.id,
          event_type: event.type,
          event_timestamp: event.occurred_at,
          account_id: tried?.account_id,
          principal: event.principal,
          object: event.object,
        })),
      )
      assert.deepEqual(created.object, policy)
    })

    test(`${name} is shown as it was given, without its secrets`, async () => {
      const { target, shown } = vendorOf()
      const none = Object.fromEntries(names.map(each => [each, null]))
      const expected = { ...none, [name]: shown }
      const body = { target: { [name]: target } }
      const created = await api.post('/event_destinations', body)
      const path = `/event_destinations/${created.body.id}`
      const changed = await api.patch(path, body)
      const read = await api.get(path)
      for (const answer of [created, changed, read]) assert.deepEqual(answer.body.target, expected)
      const { audit_events: reported } = (await api.get(`/audit_events?object_id=${created.body.id}`)).body
      assert.equal(reported.length, 2)
      const masked = JSON.parse(JSON.stringify(expected), (field, value: unknown) =>
        targetUrls.has(field) ? new URL('/', String(value)).href : value,
      )
      for (const event of reported) assert.deepEqual(event.object.target, masked)
      const listed = JSON.stringify((await api.get('/event_destinations?limit=100')).body)
      assert.ok(listed.includes(created.body.id))
      assert.equal(findSecret(listed), undefined)
    })

    if (withoutCredentials.has(name)) continue
    test(`${name} reports why wrong credentials are refused, and gets events once they are right`, async () => {
      const { wrong = assert.fail('all are right'), target, arrived } = vendorOf()
      const id = await destination(wrong.target)
      const path = `/event_destinations/${id}`
      const count = arrived().length
      await assertRefused(api, { path: `${path}/test`, ...wrong.refusal }, [path])
      assert.equal(arrived().length, count)
      assert.equal((await api.patch(path, { target: { [name]: target } })).status, 200)
      assert.equal((await api.post(`${path}/test`)).status, 204)
      await until(() => arrived().length > count)
    })
  }
})
