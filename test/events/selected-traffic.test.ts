import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { World } from '../e2e/edges/world.ts'
import { until } from '../support/until.ts'

interface Told {
  readonly object: { readonly [name: string]: unknown; readonly conn?: { readonly server_name?: string } }
}

function reportedIn(world: World, file: string): Told['object'][] {
  try {
    const lines = readFileSync(join(world.server.dataDir, 'events', file), 'utf8')
      .trim()
      .split('\n')
    return lines.map(line => (JSON.parse(line) as Told).object)
  } catch {
    return []
  }
}

async function subscribed(world: World, file: string, source: object): Promise<void> {
  const destination = await world.make('/event_destinations', { target: { file: { path: file } } })
  const sources = [{ type: 'http_request_complete.v0', ...source }]
  await world.make('/event_subscriptions', { sources, destination_ids: [destination.id] })
}

test('subscriptions to the same traffic are each sent what they chose, and no more', async () => {
  await using world = await World.start()
  const edge = await world.edge(['a.example.com', 'b.example.com'])
  await world.route(edge, '/', await world.fixedResponse('hello'))
  const fields = ['http.request.url.query', 'http.request.headers', 'http.response.status_code']
  await subscribed(world, 'plain.jsonl', {})
  await subscribed(world, 'chosen.jsonl', { fields })
  await subscribed(world, 'only-b.jsonl', {
    fields: ['http.request.url.query'],
    filter: 'ev.conn.server_name.matches("^b[.]")',
  })
  const ask = (host: string, word: string) =>
    world.ask(`${host}.example.com/x?word=${word}`, { headers: { 'x-word': word } })
  // Gateways get subscriptions a moment later: the first events may lack the selected fields.
  await until(
    async () => (
      await ask('b', 'early'),
      reportedIn(world, 'only-b.jsonl').map(reported => JSON.stringify(reported))
    ),
    { fits: reported => reported.includes('{"http":{"request":{"url":{"query":"word=early"}}}}') },
  )
  await ask('a', 'first')
  await ask('b', 'second')
  await ask('a', 'third')

  const last = (file: string, ended: (reported: string) => boolean) =>
    until(async () => reportedIn(world, file), { fits: reported => ended(JSON.stringify(reported)) })
  const chosen = await last('chosen.jsonl', text => text.includes('third'))
  const third = chosen.find(reported => JSON.stringify(reported).includes('third')) as Record<string, object>
  assert.deepEqual(Object.keys(third), ['http'])
  assert.match(JSON.stringify(third), /"query":"word=third"/)
  assert.match(JSON.stringify(third), /"x-word":\["third"\]/)
  assert.match(JSON.stringify(third), /"status_code":200/)

  const plain = await last('plain.jsonl', () => reportedIn(world, 'plain.jsonl').length >= chosen.length)
  assert.ok(plain.some(({ conn }) => conn?.server_name === 'a.example.com'))
  assert.doesNotMatch(JSON.stringify(plain), /word|"headers"|"query"|"raw"/)

  const onlyB = await last('only-b.jsonl', text => text.includes('second'))
  assert.doesNotMatch(JSON.stringify(onlyB), /first|third/)
  assert.deepEqual(onlyB.at(-1), { http: { request: { url: { query: 'word=second' } } } })
})
