import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { secretText } from '../../support/secrets.ts'
import { factsOf, unreachableUrl } from './support.ts'
import {
  SAMPLED,
  HOST,
  echoHeaders,
  echoedHeaders,
  spansOfKind,
  traced,
  toEdge,
  toTunnel,
  requestWithoutTls,
  metric,
} from './world.ts'
import { until } from '../../support/until.ts'
import { workerCounts } from '../../support/workers.ts'

suite('traces', () => {
  test('contain no secrets', async () => {
    const hush = secretText('trace')
    const { collector, spans } = await traced(
      async world => {
        await toEdge(world)
        const headers = {
          authorization: `Bearer ${hush}`,
          cookie: `a=${hush}`,
          'x-api-key': hush,
          tracestate: `a=${hush}`,
          baggage: `a=${hush}`,
          referer: `https://a/?${hush}`,
          traceparent: SAMPLED,
        }
        await world.ask(`${HOST}/x?token=${hush}`, { headers, method: 'POST', body: hush })
        const metrics = await (await fetch(`${world.server.api.url}/metrics`)).text()
        assert.ok(!metrics.includes(hush))
      },
      { traces_headers: `x-key=${hush}` },
    )
    assert.equal(spans.length, 2)
    assert.equal(collector.calls[0]?.headers['x-key'], hush)
    for (const { body } of collector.calls) assert.ok(!body.includes(hush))
  })

  test('are limited: those left out are counted, and their headers forwarded unchanged', async () => {
    const { spans } = await traced(async world => {
      await toTunnel(world)
      const asking = async (): Promise<string | undefined> =>
        echoedHeaders(await requestWithoutTls(world, { traceparent: SAMPLED }))['traceparent']
      // Until more have arrived in a second than are accepted.
      const passed = new Set<string | undefined>()
      while ((await metric(world, 'adit_traces_total{outcome="limited"}')) === 0)
        for (const found of await Promise.all(Array.from({ length: 400 }, asking))) passed.add(found)
      assert.ok(passed.has(SAMPLED))
      assert.ok((await metric(world, 'adit_traces_total{outcome="recorded"}')) >= 100)
    })
    assert.ok(spans.length >= 200)
  })

  test('do not keep requests from being answered when the collector is down', async () => {
    await traced(
      async world => {
        await toTunnel(world)
        const visits = await Promise.all(Array.from({ length: 400 }, () => requestWithoutTls(world)))
        assert.deepEqual(new Set(visits.map(({ status }) => status)), new Set([200]))
      },
      { traces_endpoint: await unreachableUrl() },
    )
  })

  test('that the collector does not take are counted', async () => {
    const { spans } = await traced(async (world, collector) => {
      collector.answer = () => ({ status: 400 })
      await toTunnel(world)
      await Promise.all(Array.from({ length: 300 }, () => requestWithoutTls(world)))
      await until(() => metric(world, 'adit_trace_spans_total{outcome="dropped"}'), {
        fits: dropped => dropped === 512,
      })
      collector.answer = () => ({ status: 200 })
    })
    assert.equal(spans.length, 600 - 512)
  })

  for (const workers of workerCounts) {
    test(`reach a collector in a private network, from ${workers} process(es)`, async () => {
      const ids = new Set<string>()
      const { collector, spans } = await traced(
        async world => {
          const agent = await world.agent()
          const forwardTo = `127.0.0.1:${await world.service(echoHeaders)}`
          await agent.listen({ proto: 'https', domain: HOST, forwardTo })
          for (let visit = 0; visit < 40; visit++) ids.add((await world.ask(HOST)).requestId)
        },
        { workers, egress_allow: '', traces_headers: 'x-key=hush', traces_service: 'door' },
      )
      const reported = spansOfKind(spans, 2).map(({ attributes }) => factsOf(attributes)['adit.request_id'])
      assert.deepEqual(new Set(reported), ids)
      assert.equal(spans.length, 80)
      const nodes = new Set(collector.batches.map(({ resource }) => resource['service.instance.id']))
      assert.deepEqual(nodes, new Set(workers === '1' ? ['main'] : ['w1', 'w2']))
      for (const { resource } of collector.batches) assert.equal(resource['service.name'], 'door')
      for (const { headers } of collector.calls) assert.equal(headers['x-key'], 'hush')
    })
  }
})
