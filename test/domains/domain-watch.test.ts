import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { watchDomain, type CertificateState, type Site } from '#domains/domain-watch.ts'

const target = { domain: 'example.com', addresses: ['198.51.100.7', '2001:db8::7'] }
const url = 'https://example.com'
const there = { is: 'there', text: 'issued by X, valid until 2030-01-01.', fingerprint: 'AA' } as const

/** Takes one after the other, and stays at the last one. */
function inTurn<Value>(values: readonly Value[]): () => Value | undefined {
  let turn = 0
  return () => values[Math.min(turn++, values.length - 1)]
}

function siteOf(states: readonly (CertificateState | Error)[], shown: readonly (string | Error)[]): Site {
  const [state, view] = [inTurn(states), inTurn(shown)]
  const orThrow = <Value>(value: Value | Error | undefined): Value => {
    if (value === undefined || value instanceof Error) throw value ?? new Error('nothing')
    return value
  }
  return { url, certificate: async () => orThrow(state()), shown: async () => orThrow(view()) }
}

/** The answers for the domain, and for names under it. */
function dnsOf(answers: readonly (readonly [readonly string[], readonly string[]] | Error)[]) {
  const turns = { own: inTurn(answers), below: inTurn(answers) }
  return {
    addresses: async (name: string) => {
      const answer = name === target.domain ? turns.own() : turns.below()
      if (answer === undefined || answer instanceof Error) throw answer ?? new Error('nothing')
      return answer[name === target.domain ? 0 : 1]
    },
  }
}

async function linesOf(dns: ReturnType<typeof dnsOf>, site: Site): Promise<string[]> {
  const lines: string[] = []
  const report = (text: string) => void lines.push(text)
  const { signal } = new AbortController()
  await watchDomain(target, dns, site, { report, signal, firstWaitMs: 1, longestWaitMs: 1 })
  return lines
}

const { addresses } = target
const leadsHere = dnsOf([[addresses, addresses]])

suite('the state of a domain', () => {
  test('is reported when it changes, until it points here and is served with its certificate', async () => {
    const dns = dnsOf([
      [[], []],
      [[], []],
      [['203.0.113.1'], []],
      new Error('no answer'),
      [addresses, []],
      [[], addresses],
      [addresses, addresses],
    ])
    const waiting = (text: string) => ({ is: 'waiting', text }) as const
    const states = [
      waiting('about to be ordered.'),
      waiting('being ordered.'),
      new Error('the database does not answer'),
      waiting('being ordered.'),
      waiting('The authority is busy. Next try at 2026-11-15T14:00:00Z.'),
      waiting('being issued.'),
      there,
    ]
    const shown = [new Error('refused'), 'local', 'local', 'AA']
    assert.deepEqual(await linesOf(dns, siteOf(states, shown)), [
      'Waiting for DNS of example.com: no record yet.',
      'Waiting for DNS of example.com: it points to 203.0.113.1.',
      'Waiting for DNS of example.com: name servers do not respond.',
      'Waiting for DNS of example.com: *.example.com has no record yet.',
      'Waiting for DNS of example.com: example.com has no record yet.',
      'DNS of example.com points to this server.',
      'Certificate of example.com: about to be ordered.',
      'Certificate of example.com: being ordered.',
      'Certificate of example.com: The authority is busy. Next try at 2026-11-15T14:00:00Z.',
      'Certificate of example.com: being issued.',
      'Certificate of example.com: issued by X, valid until 2030-01-01.',
      'The certificate is issued, but https://example.com is not served with it yet.',
      'https://example.com is served.',
    ])
  })

  test('does not repeat what was missing in DNS before it led here', async () => {
    const missing = (looksAt: string) =>
      ({ is: 'waiting', text: `DNS is not right. Next try at ${looksAt}.`, looksAt }) as const
    const states = [missing('14:00'), missing('14:00'), missing('14:15'), there]
    assert.deepEqual((await linesOf(leadsHere, siteOf(states, ['AA']))).slice(1, 3), [
      'Certificate of example.com: ordered after the next DNS check, at 14:00.',
      'Certificate of example.com: DNS is not right. Next try at 14:15.',
    ])
  })

  test('ends where no certificate can come', async () => {
    const why = 'No certificate is ordered, because ADIT_ACME_DIRECTORY is off.'
    const lines = await linesOf(leadsHere, siteOf([{ is: 'never', why }], []))
    assert.deepEqual(lines, ['DNS of example.com points to this server.', why])
  })

  test('fills no log, and its end is report nevertheless', async () => {
    const failures = Array.from({ length: 80 }, (_, n) => ({ is: 'waiting', text: `${n}.` }) as const)
    const lines = await linesOf(leadsHere, siteOf([...failures, there], ['AA']))
    assert.equal(lines.length, 52)
    assert.match(lines[50] ?? '', /^No further progress is shown here/)
    assert.equal(lines[51], 'https://example.com is served.')
  })

  test('is not report any more once it is to stop', async () => {
    const stop = new AbortController()
    const lines: string[] = []
    const report = (text: string) => {
      lines.push(text)
      stop.abort()
    }
    await watchDomain(target, dnsOf([[[], []]]), siteOf([there], ['AA']), { report, signal: stop.signal })
    assert.equal(lines.length, 1)
  })
})
