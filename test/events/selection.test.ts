import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { fieldNames, filterableNames, trafficTypes } from '#contract/events/field-names.ts'
import { valueAt } from '#contract/events/filter.ts'
import { usualFields, type TrafficType } from '#contract/events/traffic-fields.ts'
import { envelope } from '#events/envelope.ts'
import { selectionOf } from '#events/selection.ts'

const HTTP = 'http_request_complete.v0'
const TCP = 'tcp_connection_closed.v0'

type Tree = { [name: string]: unknown }

/** An object with these fields, each with a value of its own. */
function objectWith(names: Iterable<string>, valueOf = (name: string): unknown => `of ${name}`): Tree {
  const object: Tree = {}
  for (const name of names) {
    const groups = name.split('.')
    const last = groups.pop() ?? name
    let tree = object
    for (const group of groups) tree = (tree[group] ??= {}) as Tree
    tree[last] = valueOf(name)
  }
  return object
}

const bodyOf = (type: string, object: object): string =>
  envelope({ id: 'ev_1', type, at: '2026-01-31T12:00:00Z', object: JSON.stringify(object) }, 'ac_1').body

const objectIn = (body: string | undefined): unknown => (JSON.parse(body ?? '') as Tree)['object']

suite('what a source is sent', () => {
  for (const type of trafficTypes) {
    test(`without a choice it is the usual fields of ${type}, whatever others ask for`, () => {
      const selection = selectionOf({ type })
      assert.deepEqual([...selection.requiredFields], usualFields(type))
      const everything = bodyOf(type, objectWith(fieldNames(type)))
      assert.deepEqual(objectIn(selection.apply(everything)), objectWith(usualFields(type)))
    })

    test(`of ${type} any choice gives exactly what is chosen of what is known`, () => {
      const names = fc.subarray([...fieldNames(type)])
      const filters = fc.constantFrom(undefined, 'true', 'ev.conn.server_port == 1 || true')
      fc.assert(
        fc.property(names, names, fc.jsonValue(), filters, (chosen, known, value, filter) => {
          const fields = chosen.length > 0 ? { fields: chosen } : {}
          const selection = selectionOf({ type, ...fields, ...(filter !== undefined && { filter }) })
          const sent = chosen.length > 0 ? chosen : usualFields(type)
          const body = bodyOf(
            type,
            objectWith(known, () => value),
          )
          const expected = objectWith(
            known.filter(name => sent.includes(name)),
            () => value,
          )
          const got = objectIn(selection.apply(body)) as Tree
          for (const name of fieldNames(type))
            assert.deepEqual(valueAt(name)(got), valueAt(name)(JSON.parse(JSON.stringify(expected))))
          assert.ok(sent.every(name => selection.requiredFields.has(name)))
        }),
        { numRuns: 300 },
      )
    })
  }

  test('keeps the envelope as it is', () => {
    const body = bodyOf(HTTP, objectWith(fieldNames(HTTP)))
    const sent = JSON.parse(selectionOf({ type: HTTP, fields: ['tls.version'] }).apply(body) ?? '') as Tree
    const { object, ...rest } = JSON.parse(body) as Tree
    assert.notDeepEqual(sent['object'], object)
    assert.deepEqual(sent, { ...rest, object: { tls: { version: 'of tls.version' } } })
    assert.deepEqual(Object.keys(sent), Object.keys(JSON.parse(body) as Tree))
  })

  test('is the very text where nothing has to go', () => {
    const usual = bodyOf(HTTP, objectWith(usualFields(HTTP)))
    assert.equal(selectionOf({ type: HTTP }).apply(usual), usual)
    const part = bodyOf(HTTP, objectWith(['conn.client_ip', 'http.request.url.query']))
    const fields = ['http.request.url.query', 'conn.client_ip']
    assert.equal(selectionOf({ type: HTTP, fields }).apply(part), part)
    assert.equal(selectionOf({ type: HTTP, fields, filter: 'true' }).apply(part), part)
  })

  test('is never parsed for types that are sent unfiltered', () => {
    for (const type of ['ip_policy_created.v0', 'agent_session_start.v0', 'agent_session_stop.v0']) {
      const selection = selectionOf({ type })
      assert.equal(selection.apply('not even JSON'), 'not even JSON')
      assert.equal(selection.requiredFields.size, 0)
    }
    assert.equal(selectionOf({ type: HTTP }).apply('not even JSON'), 'not even JSON')
  })

  test('has no field that is injected by a value of a client', () => {
    const names = [...usualFields(HTTP), 'http.request.url.query', 'http.request.headers']
    const value = '"query":"\\"headers\\"":{"__proto__":1}'
    const body = bodyOf(
      HTTP,
      objectWith(names, name => (name.endsWith('headers') ? { [value]: [value] } : value)),
    )
    assert.deepEqual(
      objectIn(selectionOf({ type: HTTP }).apply(body)),
      objectWith(usualFields(HTTP), () => value),
    )
  })

  test('has every header that there is, strange names included', () => {
    const headers = JSON.parse('{"__proto__":["1"],"constructor":["2"],"x":["3","4"]}') as object
    const body = bodyOf(
      HTTP,
      objectWith(['http.request.headers', 'tls.version'], () => headers),
    )
    const sent = selectionOf({ type: HTTP, fields: ['http.request.headers'] }).apply(body)
    assert.equal(JSON.stringify(objectIn(sent)), JSON.stringify({ http: { request: { headers } } }))
  })
})

suite('a filter', () => {
  const conn = {
    client_ip: '10.0.0.1',
    server_ip: '10.0.0.2',
    server_name: 'api.example.com',
    server_port: 443,
  }

  const passes = (filter: string, seen: object = conn, type: TrafficType = HTTP): boolean => {
    const body = bodyOf(type, { conn: seen })
    const sent = selectionOf({ type, filter }).apply(body)
    assert.ok(sent === undefined || sent === body)
    return sent !== undefined
  }

  const decided: readonly [string, boolean][] = [
    ['ev.conn.server_port == 443 && ev.conn.server_name.matches("^api[.]")', true],
    ['ev.conn.server_port == 443 && ev.conn.server_name.matches("^www[.]")', false],
    ['ev.conn.server_port != 443', false],
    ['ev.conn.server_port in [80, 443]', true],
    ['!(ev.conn.server_port in [80, 8080])', true],
    ['ev.conn.server_port >= 443 && ev.conn.server_port <= 443', true],
    ['ev.conn.server_port < 443 || ev.conn.server_port > 443', false],
    ['ev.conn.server_port > -1', true],
    ['ev.conn.client_ip.startsWith("10.") ? true : false', true],
    ['ev.conn.client_ip.startsWith("11.") ? true : false', false],
    ['ev.conn.server_name.endsWith(".com") && ev.conn.server_name.contains("example")', true],
    ['ev.conn.server_name in ["a", "b"]', false],
    ['ev.conn.server_name < "b"', true],
    ['false < true', true],
    ['size(ev.conn.server_name) == 15 && ev.conn.server_ip.size() == 8', true],
    ['has(ev.conn.server_name)', true],
    ['ev.conn.server_ip == ev.conn.client_ip', false],
    ['ev.conn.server_name.matches("EXAMPLE")', false],
    ['ev.conn.server_name.matches("(?i)EXAMPLE") // any case', true],
  ]
  for (const [filter, expected] of decided) {
    test(`${filter} is ${expected}`, () => {
      assert.equal(passes(filter), expected)
      assert.equal(passes(filter, conn, TCP), expected)
    })
  }

  test('on an absent value matches nothing, negated or not', () => {
    const { server_name: _, ...nameless } = conn
    for (const filter of [
      'ev.conn.server_name == "a"',
      'ev.conn.server_name != "a"',
      '!(ev.conn.server_name == "a")',
      '!ev.conn.server_name.matches("a")',
      'ev.conn.server_name in ["a"]',
      'size(ev.conn.server_name) < 99',
      'ev.conn.server_name.startsWith("")',
      'ev.conn.server_name == "a" ? true : true',
      'ev.conn.server_name == "a" || ev.conn.server_port == 1',
      'has(ev.conn.server_name)',
    ])
      assert.equal(passes(filter, nameless), false, filter)
    assert.equal(passes('ev.conn.server_name == "a" || ev.conn.server_port == 443', nameless), true)
    assert.equal(passes('!(ev.conn.server_name == "a" && ev.conn.server_port == 1)', nameless), true)
    assert.equal(passes('!has(ev.conn.server_name)', nameless), true)
    assert.equal(passes('ev.conn.server_port == 443', { server_port: '443' }), false)
  })

  test('is evaluated before fields are removed, and makes gateways report its fields', () => {
    const selection = selectionOf({
      type: HTTP,
      fields: ['tls.version'],
      filter: 'ev.conn.server_port == 443',
    })
    assert.deepEqual([...selection.requiredFields].toSorted(), ['conn.server_port', 'tls.version'])
    const body = (port: number) => bodyOf(HTTP, { conn: { server_port: port }, tls: { version: 'x' } })
    assert.deepEqual(objectIn(selection.apply(body(443))), { tls: { version: 'x' } })
    assert.equal(selection.apply(body(80)), undefined)
  })

  test('that was stored and cannot be parsed any more matches nothing', () => {
    for (const filter of ['ev.conn.was_once == 1', 'no longer CEL', 'ev.http.request.method == "GET"'])
      assert.equal(passes(filter), false, filter)
    const body = bodyOf(HTTP, { conn })
    const unknown = selectionOf({ type: HTTP, fields: ['was.once', 'conn.server_port'] })
    assert.deepEqual(objectIn(unknown.apply(body)), { conn: { server_port: 443 } })
  })

  test('may be the same for both types of traffic', () => {
    const names = ['conn.client_ip', 'conn.server_ip', 'conn.server_name', 'conn.server_port']
    for (const type of trafficTypes) assert.deepEqual(filterableNames(type), names)
  })
})
