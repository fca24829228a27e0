import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { parseRange } from '#base/addresses.ts'
import { createEgress } from '#base/egress-client.ts'
import { Registry } from '#base/metrics.ts'
import { Secret } from '#base/secrets.ts'
import type { Span } from '#telemetry/tracing/request-span.ts'
import { SpanExporter, type ExporterTimings } from '#telemetry/tracing/span-exporter.ts'
import { Collector, unreachableUrl } from './support.ts'
import { until } from '../../support/until.ts'

const allow = ['127.0.0.0/8'].flatMap(text => parseRange(text) ?? [])

const span = (number: number): Span => ({
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: number.toString(16).padStart(16, '0'),
  flags: 1,
  name: String(number),
  kind: 2,
  startTimeUnixNano: '1',
  endTimeUnixNano: '2',
  attributes: [],
  status: { code: 0 },
})

/** An exporter with short timers, its counters and its log. */
function exporting(url: string, timings: Partial<ExporterTimings> = {}) {
  const registry = new Registry()
  const sent = registry.counter('sent', '')
  const dropped = registry.counter('dropped', '')
  const lines: string[] = []
  const write = (...words: unknown[]): void => void lines.push(JSON.stringify(words))
  const exporter = new SpanExporter({
    url: `${url}/v1/traces`,
    headers: new Map([['authorization', new Secret('hush')]]),
    egress: createEgress({ allow }),
    service: { name: 'adit', version: '1.2.3', node: 'w1' },
    sent,
    dropped,
    log: { debug: write, info: write, warn: write, error: write },
    timings: { gatherMs: 20, firstWaitMs: 1, ...timings },
  })
  const put = (from: number, count: number): void => {
    for (let at = from; at < from + count; at++) exporter.put(span(at))
  }
  return { exporter, put, lines, counts: () => [sent.read().value, dropped.read().value] }
}

const names = (collector: Collector): number[] => collector.spans.map(({ name }) => Number(name))
const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at)

suite('the exporter of spans', () => {
  test('sends spans in one batch, with its resource', async () => {
    await using collector = await Collector.start()
    const { put, counts, exporter } = exporting(collector.url)
    put(0, 3)
    await collector.until(() => collector.spans.length === 3)
    await until(async () => counts(), { fits: ([sent]) => sent === 3 })
    put(3, 2)
    await collector.until(() => collector.spans.length === 5)
    await exporter.close()
    assert.deepEqual(names(collector), upTo(5))
    assert.equal(collector.calls.length, 2)
    const { url, headers } = collector.calls[0] ?? { url: '', headers: {} }
    assert.equal(url, '/v1/traces')
    assert.equal(headers['content-type'], 'application/json')
    assert.equal(headers['authorization'], 'hush')
    const { resource, scope } = collector.batches[0] ?? {}
    const { 'host.name': host, ...others } = resource ?? {}
    assert.ok(host)
    assert.deepEqual(others, {
      'service.name': 'adit',
      'service.version': '1.2.3',
      'service.instance.id': 'w1',
    })
    assert.deepEqual(scope, { name: 'adit.gateway', version: '1.2.3' })
  })

  test('does not wait once a batch is full', async () => {
    await using collector = await Collector.start()
    const { put, exporter } = exporting(collector.url, { gatherMs: 3_600_000 })
    put(0, 1100)
    await collector.until(() => collector.spans.length === 1024)
    assert.deepEqual(
      collector.batches.map(({ spans }) => spans.length),
      [512, 512],
    )
    await exporter.close()
    assert.deepEqual(names(collector), upTo(1100))
  })

  test('keeps a bounded number for a collector that is down, and sends them when it is back', async () => {
    const url = await unreachableUrl()
    const { put, counts, lines, exporter } = exporting(url, { firstWaitMs: 50 })
    put(0, 5000)
    // A batch on its way, and as many as may wait.
    assert.deepEqual(counts(), [0, 5000 - 512 - 2048])
    await until(async () => lines.length, { fits: reported => reported > 0 })
    await using collector = await Collector.start(Number(new URL(url).port))
    await collector.until(() => collector.spans.length >= 2048)
    await exporter.close()
    assert.deepEqual(names(collector), upTo(512 + 2048))
    assert.deepEqual(counts(), [2560, 2440])
    assert.deepEqual(
      lines.map(line => /traces [a-z ]+/.exec(line)?.[0]),
      ['traces cannot be sent', 'traces can be sent again'],
    )
  })

  test('drops a batch when it has failed too often', async () => {
    await using collector = await Collector.start()
    collector.answer = () => ({ status: 503 })
    const { put, counts, exporter } = exporting(collector.url)
    put(0, 2)
    await until(async () => counts(), { fits: ([, dropped]) => dropped === 2 })
    assert.equal(collector.calls.length, 6)
    assert.deepEqual(new Set(collector.calls.map(({ body }) => body)).size, 1)
    collector.answer = () => ({ status: 200 })
    put(2, 1)
    await collector.until(() => collector.spans.length === 1)
    await exporter.close()
    assert.deepEqual(names(collector), [2])
  })

  test('retries only retryable errors, and follows no redirect', async () => {
    await using other = await Collector.start()
    for (const status of [400, 401, 404, 413, 500, 307]) {
      await using collector = await Collector.start()
      collector.answer = () => ({ status, headers: { location: `${other.url}/v1/traces` } })
      const { put, counts, lines, exporter } = exporting(collector.url)
      put(0, 1)
      await until(async () => counts(), { fits: ([, dropped]) => dropped === 1 })
      assert.equal(collector.calls.length, 1, String(status))
      await exporter.close()
      assert.doesNotMatch(lines.join(), /hush/)
    }
    assert.equal(other.calls.length, 0)
  })

  test('counts spans that the collector rejected, and does not send them again', async () => {
    const rejections = [
      [JSON.stringify({ partialSuccess: { rejectedSpans: '2', errorMessage: 'hush' } }), 2],
      [JSON.stringify({ partialSuccess: { rejectedSpans: 99 } }), 5],
      [JSON.stringify({ partialSuccess: { rejectedSpans: 'many' } }), 0],
      [JSON.stringify({ partialSuccess: null }), 0],
      ['not JSON', 0],
      ['', 0],
    ] as const
    for (const [body, rejected] of rejections) {
      await using collector = await Collector.start()
      collector.answer = () => ({ status: 200, body })
      const { put, counts, exporter } = exporting(collector.url)
      put(0, 5)
      await exporter.close()
      assert.equal(collector.calls.length, 1)
      assert.deepEqual(counts(), [5 - rejected, rejected], body)
    }
  })

  test('waits only briefly at exit for a collector that never responds', async () => {
    await using collector = await Collector.start()
    collector.answer = () => new Promise<never>(() => undefined)
    const { put, counts, exporter } = exporting(collector.url, { closeMs: 50 })
    put(0, 600)
    await exporter.close()
    // Those of the first batch may still be accepted, so they are not counted as lost.
    assert.deepEqual(counts(), [0, 88])
    put(600, 1)
    assert.deepEqual(counts(), [0, 89])
  })

  test('ends at once when the collector is down', async () => {
    const { put, counts, exporter } = exporting(await unreachableUrl(), { firstWaitMs: 3_600_000 })
    put(0, 600)
    await exporter.close()
    assert.deepEqual(counts(), [0, 600])
  })
})
