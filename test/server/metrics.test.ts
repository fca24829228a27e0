import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { renderMetrics } from '#base/metrics-text.ts'
import { Registry } from '#base/metrics.ts'
import type { Engine } from '#store/engine.ts'
import { measured } from '#store/measured-engine.ts'
import { openSqlite } from '#store/sqlite.ts'
import { StoreError } from '#store/store-error.ts'
import { sqlite } from '#store/dialect.ts'
import { ServerMetrics } from '#server/metrics.ts'
import { EndpointMetrics } from '#telemetry/usage/endpoint-metrics.ts'
import type { SeriesUsage } from '#telemetry/usage/series-usage.ts'
import { startServer, type TestServer } from '../support/server.ts'

const metricsOf = async (server: TestServer): Promise<string> =>
  (await fetch(`${server.api.url}/metrics`)).text()

const value = (text: string, sample: string): number =>
  Number(
    text
      .split('\n')
      .find(line => line.startsWith(`${sample} `))
      ?.slice(sample.length),
  )

suite('the metrics of the server', () => {
  test('count calls by method and status, and those that were too many', async () => {
    await using server = await startServer({ rate_limit: '3' })
    const { api } = server
    assert.equal((await api.post('/ip_policies')).status, 201)
    assert.equal((await api.get('/ip_policies/ipp_none')).status, 404)
    assert.equal((await api.call('OPTIONS', '/ip_policies')).status < 300, true)
    assert.equal((await api.delete('/ip_policies/ipp_none')).status, 404)
    assert.equal((await api.get('/ip_policies')).status, 429)
    const text = await metricsOf(server)
    assert.equal(value(text, 'adit_api_requests_total{method="POST",code_class="2xx"}'), 1)
    assert.equal(value(text, 'adit_api_requests_total{method="GET",code_class="4xx"}'), 2)
    assert.equal(value(text, 'adit_api_requests_total{method="DELETE",code_class="4xx"}'), 1)
    assert.equal(value(text, 'adit_api_requests_total{method="other",code_class="2xx"}'), 1)
    assert.equal(value(text, 'adit_api_rate_limited_total'), 1)
    assert.equal(value(text, 'adit_api_request_duration_seconds_count'), 5)
    assert.ok(value(text, 'adit_store_read_seconds_count') > 0)
    assert.ok(value(text, 'adit_store_write_seconds_count') > 0)
  })

  test('have the number of the applied change', async () => {
    await using server = await startServer()
    const earlier = value(await metricsOf(server), 'adit_config_revision')
    assert.equal((await server.api.post('/ip_policies')).status, 201)
    // The change is followed after it was acknowledged, at once but not in the same moment.
    let later = earlier
    while (later <= earlier) later = value(await metricsOf(server), 'adit_config_revision')
    assert.equal(later, earlier + 1)
    assert.equal(value(await metricsOf(server), 'adit_config_apply_errors_total'), 0)
  })

  test('with workers have those of the first process too, each metric once', async () => {
    await using server = await startServer({ workers: '2' })
    const text = await metricsOf(server)
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(match => match[1])
    assert.equal(new Set(names).size, names.length)
    assert.ok(value(text, 'process_resident_memory_bytes') > process.memoryUsage.rss())
    assert.ok(value(text, 'adit_config_revision') > 0)
  })
})

suite('a measured store', () => {
  test('measures reads and writes', async () => {
    const took: string[] = []
    const observer = { took: (work: string) => void took.push(work), failed: () => assert.fail() }
    await using store = await openSqlite(':memory:', observer)
    await store.get('a')
    await store.claimMeta('a', 'b')
    assert.deepEqual(took, ['read', 'write'])
  })

  test('rethrows failures, and counts them by reason', async () => {
    const metrics = new ServerMetrics()
    const failing: Engine = {
      dialect: sqlite,
      alone: true,
      connections: 1,
      share: () => undefined,
      own: async () => undefined,
      read: () => Promise.reject(new StoreError('unavailable', 'gone')),
      run: () => Promise.reject(new StoreError('full', 'no space')),
      close: async () => undefined,
    }
    const engine = measured(failing, metrics.store)
    await assert.rejects(engine.read({ text: '', values: [] }), { code: 'unavailable' })
    await assert.rejects(engine.run((function* () {})()), { code: 'full' })
    const text = metrics.text()
    assert.equal(value(text, 'adit_store_errors_total{reason="unavailable"}'), 1)
    assert.equal(value(text, 'adit_store_errors_total{reason="full"}'), 1)
    assert.equal(value(text, 'adit_store_errors_total{reason="locked"}'), 0)
    assert.equal(value(text, 'adit_store_read_seconds_count'), 0)
  })
})

suite('the metrics by endpoint', () => {
  const counted = (name: string, requests: number): SeriesUsage => ({
    by: 'endpoint',
    name,
    owner: 'usr_1',
    requests,
    errors: 1,
    bytesIn: 10,
    bytesOut: 20,
    latency: '',
  })

  test('have a value for as many endpoints as are allowed, and one for all others', () => {
    const registry = new Registry()
    const metrics = new EndpointMetrics(registry, 2)
    metrics.add([counted('https://a.test', 1), counted('https://b.test', 2), counted('https://c.test', 3)])
    metrics.add([counted('https://a.test', 4), { ...counted('cr_1', 5), by: 'credential' }])
    const text = renderMetrics(registry.snapshot())
    const requests = (endpoint: string) => value(text, `adit_endpoint_requests_total{endpoint="${endpoint}"}`)
    assert.deepEqual([requests('https://a.test'), requests('https://b.test'), requests('other')], [5, 2, 3])
    assert.equal(text.match(/^adit_endpoint_requests_total/gm)?.length, 3)
    assert.equal(value(text, 'adit_endpoint_errors_total{endpoint="https://a.test"}'), 2)
    assert.equal(value(text, 'adit_endpoint_bytes_total{endpoint="other",dir="out"}'), 20)
  })

  test('replace only endpoints that were idle for an hour', () => {
    let now = 0
    const registry = new Registry()
    const metrics = new EndpointMetrics(registry, 2, () => now)
    metrics.add([counted('https://idle.test', 1), counted('https://used.test', 1)])
    now = 3_599_999
    metrics.add([counted('https://used.test', 1), counted('https://early.test', 1)])
    now = 3_600_000
    metrics.add([counted('https://new.test', 1), counted('https://late.test', 1)])
    const samples = renderMetrics(registry.snapshot()).matchAll(/requests_total\{endpoint="([^"]+)"\} (\d+)/g)
    assert.deepEqual(
      Array.from(samples, ([, name, count]) => [name, Number(count)]),
      [
        ['other', 2],
        ['https://used.test', 2],
        ['https://new.test', 1],
      ],
    )
  })

  test('are exported only if the setting allows some', async () => {
    await using server = await startServer()
    assert.doesNotMatch(await metricsOf(server), /adit_endpoint_/)
  })
})
