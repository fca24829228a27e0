import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Records } from '#registry/records/records.ts'
import type { SourceRow } from '#registry/records/source.ts'
import { Expiry } from '#tls/expiry.ts'
import { recordingLog } from '../gateway/agents/support.ts'

const DAY = 86_400_000
const NOW = Date.parse('2030-01-01T00:00:00Z')

interface Given {
  readonly from: number
  readonly to: number
  readonly names: readonly string[]
  readonly kind?: string
}

/** Certificates that began and end so many days from now, each with its names. */
function world(...certificates: readonly Given[]) {
  const records = new Records()
  const at = (days: number): string => new Date(NOW + days * DAY).toISOString()
  const row = (kind: string, id: string, body: object): SourceRow => ({
    kind,
    id,
    parent: null,
    version: 1,
    body: { id, ...body },
    readable: true,
  })
  records.snapshot(
    certificates.flatMap(({ from, to, names, kind = 'reserved_domain' }, index) => [
      row('tls_certificate', `cert_${index}`, { not_before: at(from), not_after: at(to) }),
      ...names.map(domain => row(kind, `rd_${domain}`, { domain, certificate: `cert_${index}` })),
    ]),
  )
  const { log, lines } = recordingLog()
  const expiry = new Expiry({ records, defaultEnd: () => NOW + 300 * DAY, log, now: () => NOW })
  return { expiry, lines }
}

suite('certificate expiry', () => {
  test('are those of what is served: certificates of domains, and the default one', () => {
    const { expiry, lines } = world({ from: -89, to: 1, names: [] })
    assert.deepEqual(expiry.survey(), { earliest: NOW + 300 * DAY, expiring: [], expired: [] })
    expiry.logState()
    assert.deepEqual(lines, [])
  })

  test('that are near or past are logged in one line each, however many names a certificate has', () => {
    const { expiry, lines } = world(
      { from: -60, to: 30, names: ['fine.example'] },
      { from: -77, to: 13, names: ['near.example', 'near-too.example'] },
      { from: -100, to: -10, names: ['past.example'] },
    )
    assert.deepEqual(expiry.survey(), {
      earliest: NOW - 10 * DAY,
      expiring: ['near.example'],
      expired: ['past.example'],
    })
    expiry.logState()
    assert.deepEqual(
      lines.map(({ level, fields }) => [level, fields]),
      [
        ['warn', { count: 1, names: ['near.example'] }],
        ['error', { count: 1, names: ['past.example'] }],
      ],
    )
  })

  test('are those of the names through which agents come, too', () => {
    const { expiry } = world({ from: -89, to: 1, names: ['agents.example'], kind: 'agent_ingress' })
    assert.deepEqual(expiry.survey().expiring, ['agents.example'])
  })

  test('come soon for certificates that live for days only, not always', () => {
    const { expiry } = world(
      { from: -2, to: 4, names: ['a.example'] },
      { from: -5, to: 1, names: ['b.example'] },
    )
    assert.deepEqual(expiry.survey().expiring, ['b.example'])
  })

  test('are logged by number and some names when they are many', () => {
    const many = Array.from({ length: 500 }, (_, at) => ({ from: -100, to: -10, names: [`n${at}.example`] }))
    const { expiry, lines } = world(...many)
    expiry.logState()
    const fields = lines[0]?.fields ?? {}
    assert.equal(fields['count'], 500)
    assert.equal((fields['names'] as string[]).length, 20)
  })
})
