import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { file } from '#events/destinations/file.ts'
import { envelope } from '#events/envelope.ts'
import { eventsOf, linesOf, LineEvent, sizeOf, type EventPage } from '#events/line-event.ts'
import { TrafficFilter } from '#events/traffic-filter.ts'
import { testLog } from '../support/secrets.ts'
import { partsWith } from './destinations/support.ts'

const TYPE = 'http_request_complete.v0'
const AT = '2026-01-31T12:00:00.000Z'
const ofPath = (path: string, n = 0) =>
  envelope(
    { id: `ev_${n}`, type: TYPE, at: AT, object: JSON.stringify({ http: { request: { url: { path } } } }) },
    'ac_1',
  )

/** Events as a gateway reports them. */
function pageOf(events: readonly { readonly type: string; readonly body: string }[]): EventPage {
  const lines = events.map(({ body }) => Buffer.from(`${body}\n`))
  let end = 0
  const ends = lines.map(line => (end += line.length) - 1)
  const fields = { [TYPE]: ['http.request.url.path'] }
  const endpoints = events.map((_, n) => `endpoint ${n}`)
  return { bytes: Buffer.concat(lines), ends, types: events.map(({ type }) => type), endpoints, fields }
}

suite('events that lie as lines', () => {
  test('are the same as events of text, whatever is in them', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1 }), paths => {
        const plain = paths.map(ofPath)
        const lying = eventsOf(pageOf(plain))
        assert.deepEqual(
          lying.map(({ id, type, at, body }) => ({ id, type, at, body })),
          plain,
        )
        assert.deepEqual(lying.map(sizeOf), plain.map(sizeOf))
        assert.deepEqual(linesOf(lying), linesOf(plain))
      }),
    )
  })

  test('are written in order when some are missing, and among events of text', () => {
    const events = ['/a', '/b', '/c', '/ü'].map(ofPath)
    const [a, b, c, d] = eventsOf(pageOf(events)) as [LineEvent, LineEvent, LineEvent, LineEvent]
    const [other] = eventsOf(pageOf([ofPath('/other')])) as [LineEvent]
    const text = ofPath('/text')
    for (const mixture of [[a, c], [b, a], [a, text, text, b, other, c, d], [], [d]])
      assert.equal(linesOf(mixture).toString(), mixture.map(({ body }) => `${body}\n`).join(''))
    assert.deepEqual(linesOf([b, c]).buffer, b.bytes.buffer)
  })

  test('pass a traffic filter unchanged only if it selects all of their fields and has no condition', () => {
    const [event] = eventsOf(pageOf([ofPath('/a')])) as [LineEvent]
    const through = (source: object) => new TrafficFilter([{ type: TYPE, ...source }], testLog()).apply(event)
    assert.equal(through({}), event)
    assert.equal(through({ fields: ['http.request.url.path', 'conn.client_ip'] }), event)
    const reduced = through({ fields: ['conn.client_ip'] })
    assert.deepEqual(JSON.parse(reduced?.body ?? '').object, {})
    assert.deepEqual([reduced?.id, reduced?.type, reduced?.at], [event.id, TYPE, AT])
    assert.equal(through({ filter: 'ev.conn.server_port == 1' }), undefined)
  })

  test('come to a file', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'adit-lines-'))
    try {
      const target = file({ path: 'reported.jsonl' }, partsWith({ dataDir }))
      const events = Array.from({ length: 100 }, (_, n) => ofPath(`/${n}`, n))
      await target.send(eventsOf(pageOf(events)), new AbortController().signal)
      target.close()
      const lines = readFileSync(join(dataDir, 'events/reported.jsonl'), 'utf8').trimEnd().split('\n')
      assert.deepEqual(
        lines,
        events.map(({ body }) => body),
      )
    } finally {
      rmSync(dataDir, { recursive: true })
    }
  })
})
