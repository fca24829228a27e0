import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Engine } from '#store/engine.ts'
import { measured } from '#store/measured-engine.ts'
import { openSqlite } from '#store/sqlite.ts'
import { StoreError } from '#store/store-error.ts'
import { sqlite } from '#store/dialect.ts'
import { ServerMetrics } from '#server/metrics.ts'
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

  test('tell which change is followed', async () => {
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
  test('tells how long reading and writing took', async () => {
    const took: string[] = []
    const observer = { took: (work: string) => void took.push(work), failed: () => assert.fail() }
    await using store = await openSqlite(':memory:', observer)
    await store.get('a')
    await store.claimMeta('a', 'b')
    assert.deepEqual(took, ['read', 'write'])
  })

  test('passes failures on as they are, and counts them by their reason', async () => {
    const metrics = new ServerMetrics()
    const failing: Engine = {
      dialect: sqlite,
      alone: true,
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
