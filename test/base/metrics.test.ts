import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { mergeSnapshots, renderMetrics } from '#base/metrics-text.ts'
import { Registry } from '#base/metrics.ts'
import { GatewayMetrics } from '#telemetry/metrics.ts'

suite('metrics', () => {
  test('have the text form that Prometheus reads', () => {
    const registry = new Registry()
    const requests = registry.counters('requests_total', 'All\nof \\them.', ['scheme', 'code'])
    requests.with('http', '2xx').add()
    requests.with('http', '2xx').add(2)
    requests.with('http', 'a"b\\c\nd').add(0.5)
    registry.gauge('level', 'How high.').set(-1)
    registry.counter('never_total', 'Not yet.')
    const seconds = registry.histogram('seconds', 'How long.', [0.1, 1])
    for (const value of [0.05, 0.1, 0.5, 7]) seconds.observe(value)
    assert.equal(
      renderMetrics(registry.snapshot()),
      String.raw`# HELP requests_total All\nof \\them.
# TYPE requests_total counter
requests_total{scheme="http",code="2xx"} 3
requests_total{scheme="http",code="a\"b\\c\nd"} 0.5
# HELP level How high.
# TYPE level gauge
level -1
# HELP never_total Not yet.
# TYPE never_total counter
never_total 0
# HELP seconds How long.
# TYPE seconds histogram
seconds_bucket{le="0.1"} 2
seconds_bucket{le="1"} 3
seconds_bucket{le="+Inf"} 4
seconds_sum 7.65
seconds_count 4
`,
    )
  })

  test('of a function are evaluated at each read', () => {
    const registry = new Registry()
    let level = 1
    registry.gauge('level', 'How high.').from(() => level)
    assert.match(renderMetrics(registry.snapshot()), /^level 1$/m)
    level = 2
    assert.match(renderMetrics(registry.snapshot()), /^level 2$/m)
  })

  test('of a name are declared once, and a member has all labels', () => {
    const registry = new Registry()
    const family = registry.gauges('level', 'How high.', ['kind'])
    assert.equal(family.with('a'), family.with('a'))
    assert.throws(() => registry.counter('level', 'Again.'), TypeError)
    assert.throws(() => registry.counter('a-b', 'No name.'), TypeError)
    assert.throws(() => family.with('a', 'b'), TypeError)
  })

  test('of several processes are summed, or the maximum is taken, after serialization as JSON', () => {
    const processes = [1, 2].map(factor => {
      const registry = new Registry()
      registry.counters('done_total', 'Done.', ['kind']).with('a').add(factor)
      registry.gauge('oldest', 'Largest of all.', 'max').set(10 * factor)
      registry.histogram('seconds', 'How long.', [1]).observe(factor)
      return registry
    })
    processes[1]?.gauge('alone', 'Only in the second.').set(5)
    const travelled = processes.map(each => JSON.parse(JSON.stringify(each.snapshot())))
    const text = renderMetrics(mergeSnapshots(travelled))
    for (const line of [
      'done_total{kind="a"} 3',
      'oldest 20',
      'seconds_bucket{le="1"} 1',
      'seconds_bucket{le="+Inf"} 2',
      'seconds_sum 3',
      'alone 5',
    ])
      assert.ok(text.includes(`\n${line}\n`), line)
    assert.equal(text.split('# TYPE done_total').length, 2)
  })
})

suite('the metrics of the gateway', () => {
  test('count requests by kind of endpoint, protocol and class of status', () => {
    using metrics = new GatewayMetrics('1.2.3')
    metrics.answered('edge', 'https', 204)
    metrics.answered('edge', 'https', 200)
    metrics.answered('ephemeral', 'https', 200)
    metrics.answered('none', 'http', 503)
    metrics.answered('domain', 'http', 999)
    for (const seconds of [0.02, 0.2, 20]) metrics.requestDuration.observe(seconds)
    metrics.rejected('visitor_refused')
    metrics.rejected('visitor_refused')
    metrics.connections.tcp.add()
    metrics.bytes.in.add(10)
    const text = renderMetrics(metrics.registry.snapshot())
    for (const line of [
      'adit_http_requests_total{endpoint_type="edge",proto="https",code_class="2xx"} 2',
      'adit_http_requests_total{endpoint_type="ephemeral",proto="https",code_class="2xx"} 1',
      'adit_http_requests_total{endpoint_type="none",proto="http",code_class="5xx"} 1',
      'adit_http_requests_total{endpoint_type="domain",proto="http",code_class="5xx"} 0',
      'adit_http_request_duration_seconds_bucket{le="10"} 2',
      'adit_http_request_duration_seconds_count 3',
      'adit_rejected_total{reason="visitor_refused"} 2',
      'adit_rejected_total{reason="gateway_full"} 0',
      'adit_connections{kind="tcp"} 1',
      'adit_bytes_total{dir="in"} 10',
      `adit_build_info{version="1.2.3",runtime="${process.version}"} 1`,
    ])
      assert.ok(text.includes(`\n${line}\n`), line)
    assert.match(text, /^process_resident_memory_bytes [1-9]\d{6,}$/m)
    assert.match(text, /^process_cpu_seconds_total \d/m)
    assert.match(text, /^process_open_fds [1-9]\d*$/m)
  })

  test('have the delay of the event loop', async () => {
    using metrics = new GatewayMetrics('1.2.3')
    const worst = () => {
      const text = renderMetrics(metrics.registry.snapshot())
      return Number(/^adit_eventloop_delay_seconds\{quantile="1"\} (\S+)$/m.exec(text)?.[1])
    }
    const turn = () => new Promise(resolve => setTimeout(resolve, 30))
    await turn()
    worst()
    // The first turn after a reading is the start of the next window.
    await turn()
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 120)
    await turn()
    assert.ok(worst() > 0.09)
  })

  test('count the blocks of the event loop, for every reader', async () => {
    using metrics = new GatewayMetrics('1.2.3')
    const longer = (): number => {
      const text = renderMetrics(metrics.registry.snapshot())
      const sample = (name: string): number =>
        Number(new RegExp(`^adit_eventloop_block_seconds_${name} (\\S+)$`, 'm').exec(text)?.[1])
      return sample('count') - sample('bucket\\{le="0.5"\\}')
    }
    const turn = () => new Promise(resolve => setTimeout(resolve, 30))
    await turn()
    // The machine may have stood still as well.
    const before = longer()
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)
    await turn()
    const after = longer()
    assert.ok(after > before)
    assert.equal(longer(), after)
  })
})
