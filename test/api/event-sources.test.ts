import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldNames } from '#contract/events/field-names.ts'
import { assertRefused, createResource, onEachStore, type RejectedCall } from '../support/each-store.ts'
import type { Caller } from '../support/server.ts'

const HTTP = 'http_request_complete.v0'
const TCP = 'tcp_connection_closed.v0'
const AUDIT = 'ip_policy_created.v0'
const SESSION = 'agent_session_start.v0'

const chosen = {
  type: HTTP,
  fields: ['http.response.status_code', 'conn.client_ip', 'http.request.headers'],
  filter: 'ev.conn.server_port == 443 && ev.conn.server_name.matches("^api[.]")',
}

async function subscribed(api: Caller, sources: readonly object[] = []) {
  const { id } = await createResource(api, '/event_subscriptions', { sources })
  return { path: `/event_subscriptions/${id}`, sources: `/event_subscriptions/${id}/sources` }
}

onEachStore('what sources of events choose', api => {
  test('is kept with the subscription and shown in the order given, each field once', async () => {
    const [first = ''] = chosen.fields
    const { path, sources } = await subscribed(api(), [
      { ...chosen, fields: [...chosen.fields, first] },
      { type: AUDIT },
    ])
    const shown = [
      { type: HTTP, uri: `${api().url}${sources}/${HTTP}`, fields: chosen.fields, filter: chosen.filter },
      { type: AUDIT, uri: `${api().url}${sources}/${AUDIT}` },
    ]
    assert.deepEqual((await api().get(path)).body.sources, shown)
    assert.deepEqual((await api().get(sources)).body.sources, shown)
    assert.deepEqual((await api().get(`${sources}/${HTTP}`)).body, shown[0])
  })

  test('is in the events of the subscription, so that every server gets it', async () => {
    const { path } = await subscribed(api(), [chosen])
    const { audit_events: events } = (await api().get('/audit_events?limit=1')).body
    assert.equal(events[0].object.id, path.split('/').at(-1))
    assert.deepEqual(events[0].object.sources[0].fields, chosen.fields)
    assert.equal(events[0].object.sources[0].filter, chosen.filter)
  })

  test('leaves nothing behind where nothing is chosen', async () => {
    const empty = [
      { type: HTTP },
      { type: TCP, fields: [], filter: '' },
      { type: SESSION, fields: [], filter: '' },
    ]
    const { path, sources } = await subscribed(api(), empty)
    const reported = JSON.stringify((await api().get(path)).body.sources)
    const plain = empty.map(({ type }) => ({ type, uri: `${api().url}${sources}/${type}` }))
    assert.equal(reported, JSON.stringify(plain))
  })

  test('can be given with a source of its own, changed in part, and taken away', async () => {
    const { sources } = await subscribed(api(), [{ type: AUDIT }])
    const one = `${sources}/${HTTP}`
    const uri = api().url + one
    assert.deepEqual(await createResource(api(), sources, chosen), { ...chosen, uri })
    assert.deepEqual((await api().patch(one, {})).body, { ...chosen, uri })

    const fields = ['tls.version']
    assert.deepEqual((await api().patch(one, { fields })).body, { ...chosen, fields, uri })
    const filter = 'has(ev.conn.server_name)'
    assert.deepEqual((await api().patch(one, { filter })).body, { type: HTTP, fields, filter, uri })
    assert.deepEqual((await api().patch(one, { fields: [] })).body, { type: HTTP, filter, uri })
    assert.deepEqual((await api().patch(one, { filter: null })).body, { type: HTTP, uri })
    assert.deepEqual((await api().patch(one, { ...chosen, type: undefined })).body, { ...chosen, uri })
    assert.deepEqual((await api().patch(one, { fields: null, filter: '' })).body, { type: HTTP, uri })
    assert.deepEqual((await api().get(one)).body, { type: HTTP, uri })
    assert.equal((await api().get(sources)).body.sources.length, 2)
  })

  test('stays when the rest of the subscription changes, and goes when its sources are replaced', async () => {
    const { path } = await subscribed(api(), [chosen])
    const described = (await api().patch(path, { description: 'x' })).body
    assert.deepEqual(described.sources[0].fields, chosen.fields)
    const replaced = (await api().patch(path, { sources: [{ type: HTTP }] })).body
    assert.deepEqual(Object.keys(replaced.sources[0]), ['type', 'uri'])
  })

  test('is refused where it cannot be, with what is possible, and changes nothing', async () => {
    const { path, sources } = await subscribed(api(), [{ type: AUDIT }, { type: HTTP }])
    for (const { body, code, says, field } of refusals) {
      const posted: RejectedCall = { path: sources, body, code, says, field }
      await assertRefused(api(), posted, [path, sources])
      const inside = { sources: [{ type: SESSION }, body] }
      const listed = { code, says, field: `sources.1.${field}` }
      await assertRefused(api(), { path: '/event_subscriptions', body: inside, ...listed }, [path])
      await assertRefused(api(), { method: 'PATCH', path, body: inside, ...listed }, [path])
    }
  })

  test('is refused in the same words when a source is changed', async () => {
    const { sources } = await subscribed(api(), [{ type: AUDIT }, chosen])
    const one = `${sources}/${HTTP}`
    for (const { body, code, says, field } of refusals) {
      const { type, ...change } = body
      const changed: RejectedCall = {
        method: 'PATCH',
        path: `${sources}/${type}`,
        body: change,
        code,
        says,
        field,
      }
      if (type === AUDIT || type === HTTP) await assertRefused(api(), changed, [sources, one])
    }
    const unknown = { method: 'PATCH', path: `${sources}/${TCP}`, body: { filter: 'true' } } as const
    await assertRefused(api(), { ...unknown, code: 5125, status: 404 }, [sources])
  })

  test('is refused by its bounds', async () => {
    const { sources } = await subscribed(api())
    const filter = (length: number) => `true ${'/'.repeat(length - 5)}`
    const fields = [...fieldNames(HTTP), ...fieldNames(HTTP)]
    await assertRefused(
      api(),
      { path: sources, body: { type: HTTP, fields: fields.slice(0, 65) }, code: 215, says: /at most 64/ },
      [sources],
    )
    await assertRefused(
      api(),
      { path: sources, body: { type: HTTP, filter: filter(4097) }, code: 215, says: /at most 4096 bytes/ },
      [sources],
    )
    await assertRefused(api(), { path: sources, body: { type: HTTP, filter: 1 }, code: 215 }, [sources])
    const whole = await createResource(api(), sources, {
      type: HTTP,
      fields: fields.slice(0, 64),
      filter: filter(4096),
    })
    assert.deepEqual(whole.fields, fieldNames(HTTP))
  })
})

interface Case {
  readonly body: { readonly type: string; readonly fields?: unknown; readonly filter?: unknown }
  readonly code: number
  readonly says: RegExp
  readonly field: string
}

const filtered = (filter: unknown, code: number, says: RegExp): Case => ({
  body: { type: HTTP, filter },
  code,
  says,
  field: 'filter',
})

const refusals: readonly Case[] = [
  {
    body: { type: AUDIT, fields: ['id'] },
    code: 5401,
    says: /ip_policy_created\.v0 .*Omit "fields".*http_request_complete\.v0 and tcp_connection_closed\.v0/,
    field: 'fields',
  },
  {
    body: { type: 'domain_updated.v0', fields: ['domain'] },
    code: 5401,
    says: /always have all fields/,
    field: 'fields',
  },
  {
    body: { type: AUDIT, filter: 'true' },
    code: 5402,
    says: /ip_policy_created\.v0 cannot be filtered. Omit "filter"/,
    field: 'filter',
  },
  {
    body: { type: HTTP, fields: ['conn.client_ip', 'conn.bytes_in'] },
    code: 5403,
    says: /"conn.bytes_in" is a field of tcp_connection_closed\.v0, not of http_request_complete\.v0. Choose from/,
    field: 'fields',
  },
  {
    body: { type: TCP, fields: ['http.request.method'] },
    code: 5403,
    says: /is a field of http_request_complete\.v0, not of tcp_connection_closed\.v0.*conn\.bytes_out/,
    field: 'fields',
  },
  {
    body: { type: HTTP, fields: ['conn'] },
    code: 5405,
    says: /"conn" is not a field of http_request_complete\.v0. Choose from .*conn\.client_ip/,
    field: 'fields',
  },
  { body: { type: HTTP, fields: ['__proto__'] }, code: 5405, says: /"__proto__"/, field: 'fields' },
  { body: { type: HTTP, fields: [''] }, code: 5405, says: /"" is not a field/, field: 'fields' },
  filtered(
    'ev.conn.server_port ==',
    5404,
    /filter" is not a filter: at character 23: Unexpected token: the end. .*CEL/,
  ),
  filtered('ev.conn.server_port', 5404, /of type int, not true or false/),
  filtered('ev.conn.server_port == "443"', 5404, /int == string/),
  filtered('ev.conn.server_name.matches("(")', 5404, /at character 29: not a regular expression: missing/),
  filtered('ev.conn.nothing == 1', 5405, /"conn\.nothing" is not a field.*conn\.server_port/),
  filtered('ev.conn.bytes_in > 5', 5403, /is a field of tcp_connection_closed/),
  filtered('ev.http.request.method == "GET"', 5406, /by "http\.request\.method".*conn\.client_ip/),
]
