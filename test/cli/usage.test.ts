import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { usageText } from '#cli/usage/usage-text.ts'
import { World } from '../e2e/edges/world.ts'
import { runCommand } from '../support/command-host.ts'
import { until } from '../support/until.ts'

type Usage = Parameters<typeof usageText>[0]

const series = (name: string, fields: Partial<Usage['series'][number]> = {}): Usage['series'][number] => ({
  name,
  id: null,
  owner_id: null,
  requests: 1,
  errors: 0,
  bytes_in: 0,
  bytes_out: 0,
  p50_ms: null,
  p95_ms: null,
  p99_ms: null,
  last_at: null,
  points: null,
  ...fields,
})

suite('adit usage', () => {
  let world: World
  let environment: Record<string, string>
  before(async () => {
    world = await World.start()
    environment = { ADIT_API_URL: world.server.api.url, ADIT_DATA_DIR: world.server.dataDir, NO_COLOR: '1' }
  })
  after(() => world[Symbol.asyncDispose]())

  test('reports that there was no traffic', async () => {
    const { code, stdout } = await runCommand(['usage', '--window', '1h'], environment)
    assert.deepEqual([code, stdout], [0, 'No traffic in the last hour.\n'])
  })

  test('shows the busiest endpoints as a table and as JSON', async () => {
    const edge = await world.edge(['usage.example.test'])
    await world.route(edge, '/', await world.fixedResponse('x'.repeat(1500)))
    await world.route(edge, '/bad', await world.fixedResponse('', 503))
    for (const path of ['/', '/', '/', '/bad']) await world.ask(`usage.example.test${path}`)
    await until(async () => (await world.server.api.get('/usage?window=1h')).body.total.requests === 4)
    const text = await runCommand(['usage', '--window', '1h'], environment)
    assert.equal(text.code, 0, text.stderr)
    const [summary, empty, head, row] = text.stdout.split('\n')
    assert.equal(summary, 'In the last hour: 4 requests, 25.0 % errors, 0 B in, 4.5 kB out.')
    assert.equal(empty, '')
    assert.match(head ?? '', /^endpoint +requests +req\/min +errors +p50 +p95 +p99 +in +out$/)
    assert.match(
      row ?? '',
      /^https:\/\/usage\.example\.test +4 +<0\.1 +25\.0 % +[\d.]+ ms +[\d.]+ ms +[\d.]+ ms +0 B +4\.5 kB$/,
    )
    const json = JSON.parse((await runCommand(['usage', '-o', 'json'], environment)).stdout)
    assert.deepEqual([json.window, json.series[0].id, json.series[0].requests], ['24h', edge, 4])
    assert.equal(json.series[0].points.start.length > 0, true)
  })

  test('names the values that an option allows', async () => {
    const { code, stderr } = await runCommand(['usage', '--window', '2h'], environment)
    assert.equal(code, 2)
    assert.match(stderr, /Allowed choices are 1h, 24h, 30d, 1y\./)
  })

  test('aligns numbers, and escapes names that control the terminal', () => {
    const usage: Usage = {
      by: 'credential',
      window: '24h',
      resolution: 'minute',
      from: '2026-05-01T00:00:00Z',
      until: '2026-05-02T00:00:00Z',
      total: { requests: 1_440_001, errors: 2, bytes_in: 999, bytes_out: 12_345_678_901 },
      series: [
        series('laptop', {
          requests: 1_440_000,
          errors: 2,
          bytes_in: 999,
          bytes_out: 12_345_678_900,
          p50_ms: 12.34,
          p99_ms: 2345,
        }),
        series('\u001B[31mred'),
      ],
    }
    const lines = usageText(usage, Infinity).split('\n')
    assert.equal(lines[0], 'In the last 24 hours: 1440001 requests, 0.00 % errors, 999 B in, 12.3 GB out.')
    assert.match(
      lines[3] ?? '',
      /^laptop +1440000 {5}1000 {2}0\.00 % {2}12\.3 ms {4}- {2}2\.3 s {2}999 B {2}12\.3 GB$/,
    )
    assert.ok(!lines[4]?.includes('\u001B'))
    assert.match(lines[4] ?? '', / {6}1 {5}<0\.1 {5}0 % {8}- {4}- {6}- {4}0 B {6}0 B$/)
  })
})
