import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { DnsRateLimit } from '#dns/rate-limit.ts'
import { dig, UNLIMITED_RATE, kdig, startTestDns, type DigResult } from './support.ts'

const SOA_LINE = 'example.com. 30 IN SOA ns1.example.com. hostmaster.example.com. 7 3600 600 604800 30'

/** What is asked, and what comes of it. */
const cases: readonly (readonly [
  ask: readonly string[],
  outcome: { status?: string; answers?: readonly string[]; soa?: boolean },
])[] = [
  [['example.com', 'A'], { answers: ['example.com. 300 IN A 192.0.2.1'] }],
  [['example.com', 'AAAA'], { answers: ['example.com. 300 IN AAAA 2001:db8::1'] }],
  [['example.com', 'SOA'], { answers: [SOA_LINE] }],
  [
    ['example.com', 'NS'],
    { answers: ['example.com. 3600 IN NS ns1.example.com.', 'example.com. 3600 IN NS ns2.example.com.'] },
  ],
  [['example.com', 'CAA'], { answers: ['example.com. 300 IN CAA 0 issue "letsencrypt.org"'] }],
  [
    ['two.acme.example.com', 'TXT'],
    {
      answers: [
        'two.acme.example.com. 1 IN TXT "first proof"',
        'two.acme.example.com. 1 IN TXT "second proof"',
      ],
    },
  ],
  [['alias.example.com', 'CNAME'], { answers: ['alias.example.com. 300 IN CNAME only4.example.com.'] }],
  [
    ['alias.example.com', 'A'],
    {
      answers: [
        'alias.example.com. 300 IN CNAME only4.example.com.',
        'only4.example.com. 300 IN A 192.0.2.4',
      ],
    },
  ],
  [
    ['alias.example.com', 'AAAA'],
    { answers: ['alias.example.com. 300 IN CNAME only4.example.com.'], soa: true },
  ],
  [['far.example.com', 'A'], { answers: ['far.example.com. 300 IN CNAME elsewhere.example.net.'] }],
  [
    ['broken.example.com', 'A'],
    {
      status: 'NXDOMAIN',
      answers: ['broken.example.com. 300 IN CNAME missing.acme.example.com.'],
      soa: true,
    },
  ],
  // A wildcard stands for any depth, but not for a type that it lacks, nor below a name that exists.
  [['any.example.com', 'A'], { answers: ['any.example.com. 300 IN A 192.0.2.2'] }],
  [['a.b.c.example.com', 'AAAA'], { answers: ['a.b.c.example.com. 300 IN AAAA 2001:db8::2'] }],
  [['any.example.com', 'TXT'], { soa: true }],
  [['*.example.com', 'A'], { answers: ['*.example.com. 300 IN A 192.0.2.2'] }],
  [['below.only4.example.com', 'A'], { status: 'NXDOMAIN', soa: true }],
  [['x.cname.example.com', 'A'], { answers: ['x.cname.example.com. 300 IN A 192.0.2.5'] }],
  [['cname.example.com', 'A'], { soa: true }],
  [['x.acme.example.com', 'TXT'], { status: 'NXDOMAIN', soa: true }],
  [['acme.example.com', 'TXT'], { soa: true }],
  // Names that exist only because one below them does.
  [['empty.example.com', 'A'], { soa: true }],
  [['under.empty.example.com', 'A'], { soa: true }],
  [['x.empty.example.com', 'A'], { status: 'NXDOMAIN', soa: true }],
  [['only4.example.com', 'AAAA'], { soa: true }],
  [['only4.example.com', 'MX'], { soa: true }],
  [['only4.example.com', 'ANY'], { answers: ['only4.example.com. 3600 IN HINFO "RFC8482" ""'] }],
  [['x.acme.example.com', 'ANY'], { status: 'NXDOMAIN', soa: true }],
  [['empty.example.com', 'ANY'], { soa: true }],
]

const outside: readonly (readonly string[])[] = [
  ['example.org', 'A'],
  ['com', 'NS'],
  ['.', 'NS'],
  ['badexample.com', 'A'],
  ['version.bind', 'TXT', 'CH'],
]

for (const [program, ask] of Object.entries({ dig, kdig })) {
  suite(`asked by ${program}`, { concurrency: 8 }, () => {
    for (const [args, { status = 'NOERROR', answers = [], soa = false }] of cases) {
      test(args.join(' '), async () => {
        await using dns = await startTestDns({ limit: new DnsRateLimit(UNLIMITED_RATE) })
        const transports = args.includes('ANY') ? ['+notcp'] : ['+notcp', '+tcp']
        const dug = await Promise.all(transports.map(each => ask(dns.port, ...args, each)))
        for (const each of dug) check(each, { status, answers, soa })
      })
    }

    test('refuses what is not its own', async () => {
      await using dns = await startTestDns()
      for (const args of outside) {
        const { status, flags, answers, authority } = await ask(dns.port, ...args)
        assert.equal(status, 'REFUSED', args.join(' '))
        assert.ok(!flags.includes('aa') && !flags.includes('ra'))
        assert.deepEqual([...answers, ...authority], [])
      }
    })

    test('sends a client on to TCP when an answer is too long for UDP', async () => {
      await using dns = await startTestDns()
      const short = await ask(dns.port, 'big.acme.example.com', 'TXT', '+ignore')
      assert.ok(short.flags.includes('tc'))
      assert.deepEqual(short.answers, [])
      const { answers, flags } = await ask(dns.port, 'big.acme.example.com', 'TXT')
      assert.equal(answers.length, 40)
      assert.ok(!flags.includes('tc'))
      const long = await ask(dns.port, 'long.acme.example.com', 'TXT')
      assert.match(long.answers[0] ?? '', /"x{255}" "x{255}" "x{90}"$/)
    })

    test('follows aliases in a circle only so far', async () => {
      await using dns = await startTestDns()
      const { status, answers } = await ask(dns.port, 'round.example.com', 'A', '+tcp')
      assert.equal(status, 'NOERROR')
      assert.equal(answers.length, 8)
    })
  })
}

suite('EDNS', () => {
  test('is spoken by those who speak it', async () => {
    await using dns = await startTestDns()
    const { text } = await dig(dns.port, 'example.com', 'A', '+dnssec')
    assert.match(text, /EDNS: version: 0, flags: do; udp: 1232/)
    const without = await dig(dns.port, 'example.com', 'A', '+noedns')
    assert.doesNotMatch(without.text, /EDNS/)
    assert.equal(without.answers.length, 1)
  })

  test('of a later version is answered with the own version', async () => {
    await using dns = await startTestDns()
    const { status, text, answers } = await dig(dns.port, 'example.com', 'A', '+edns=7', '+noednsnegotiation')
    assert.equal(status, 'BADVERS')
    assert.match(text, /EDNS: version: 0/)
    assert.deepEqual(answers, [])
  })

  test('options that are not known change nothing', async () => {
    await using dns = await startTestDns()
    const { status, answers } = await dig(dns.port, 'example.com', 'A', '+ednsopt=65001:00ff', '+nsid')
    assert.equal(status, 'NOERROR')
    assert.equal(answers.length, 1)
  })

  test('gives a cookie, and takes it for proof of the address', async () => {
    await using dns = await startTestDns({ limit: new DnsRateLimit({ perSecond: 0, burst: 1, slip: 1000 }) })
    const first = await dig(dns.port, 'example.com', 'A')
    const [, cookie = ''] = /COOKIE: ([0-9a-f]+) \(good\)/.exec(first.text) ?? []
    assert.equal(cookie.length, 48)
    // Others have had the one answer that there was.
    await assert.rejects(dig(dns.port, 'example.com', 'A', '+timeout=1'))
    const again = await dig(dns.port, 'example.com', 'A', `+cookie=${cookie}`)
    assert.equal(again.answers.length, 1)
    const forged = cookie.slice(0, -1) + (cookie.endsWith('0') ? '1' : '0')
    await assert.rejects(dig(dns.port, 'example.com', 'A', `+cookie=${forged}`, '+timeout=1'))
  })

  test('a proved address may have long answers over UDP', async () => {
    await using dns = await startTestDns()
    const first = await dig(dns.port, 'long.acme.example.com', 'TXT', '+ignore', '+bufsize=1232')
    assert.ok(first.flags.includes('tc'))
    const [, cookie = ''] = /COOKIE: ([0-9a-f]+)/.exec(first.text) ?? []
    const ask = ['long.acme.example.com', 'TXT', '+ignore', `+cookie=${cookie}`]
    const { flags, answers } = await dig(dns.port, ...ask, '+bufsize=1232')
    assert.ok(!flags.includes('tc'))
    assert.equal(answers.length, 1)
    // But not longer than it says it can take.
    assert.ok((await dig(dns.port, ...ask, '+bufsize=600')).flags.includes('tc'))
  })
})

test('the case of a question is preserved', async () => {
  await using dns = await startTestDns()
  const { text, answers } = await dig(dns.port, 'oNLy4.EXample.cOm', 'A')
  assert.deepEqual(answers, ['oNLy4.EXample.cOm. 300 IN A 192.0.2.4'])
  assert.match(text, /^;oNLy4\.EXample\.cOm\.\s+IN\s+A/m)
})

test('a transfer of the zone is refused', async () => {
  await using dns = await startTestDns()
  const { text } = await dig(dns.port, 'example.com', 'AXFR')
  assert.match(text, /Transfer failed/)
  assert.equal((await dig(dns.port, 'example.com', 'IXFR=1', '+notcp')).answers.length, 0)
})

test('other operations than queries are not implemented', async () => {
  await using dns = await startTestDns()
  for (const code of ['NOTIFY', 'UPDATE', 'STATUS', '15'])
    assert.equal((await dig(dns.port, 'example.com', 'SOA', `+opcode=${code}`)).status, 'NOTIMP')
})

function check(dug: DigResult, expected: { status: string; answers: readonly string[]; soa: boolean }): void {
  const { status, flags, answers, authority } = dug
  assert.equal(status, expected.status)
  assert.deepEqual(answers, expected.answers)
  assert.deepEqual(authority, expected.soa ? [SOA_LINE] : [])
  assert.ok(flags.includes('aa'), 'it is an authority')
  assert.ok(!flags.includes('ra') && !flags.includes('tc'))
}
