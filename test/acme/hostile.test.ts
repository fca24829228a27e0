import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { FakeAuthority, Answer } from './fake-authority.ts'
import { useFakes } from './fakes.ts'

const huge = 'x'.repeat(300_000)
const directory = {
  newNonce: 'https://127.0.0.1:1/a',
  newAccount: 'https://127.0.0.1:1/b',
  newOrder: 'https://127.0.0.1:1/c',
}

interface Case {
  readonly name: string
  /** What is answered to which path; the path may be the beginning of one. */
  readonly on: string
  readonly answer: Answer
  readonly says: RegExp
}

const cases: readonly Case[] = [
  { name: 'a huge directory', on: '/directory', answer: { body: huge }, says: /more than 131072 bytes/ },
  {
    name: 'a directory that is no JSON',
    on: '/directory',
    answer: { body: '<html>' },
    says: /not a directory/,
  },
  {
    name: 'a directory of numbers',
    on: '/directory',
    answer: { body: { newNonce: 1, newAccount: [], newOrder: {} } },
    says: /"newNonce" is missing or not valid/,
  },
  {
    name: 'addresses without TLS',
    on: '/directory',
    answer: { body: { ...directory, newNonce: 'http://127.0.0.1/nonce' } },
    says: /"newNonce" is missing or not valid/,
  },
  {
    name: 'an address with a password',
    on: '/directory',
    answer: { body: { ...directory, newAccount: 'https://me:secret@127.0.0.1/' } },
    says: /"newAccount" is missing or not valid/,
  },
  {
    name: 'a redirect into a private network',
    on: '/directory',
    answer: { status: 302, headers: { location: 'https://10.1.2.3/latest/meta-data' } },
    says: /only non-public addresses/,
  },
  {
    name: 'addresses in a private network',
    on: '/directory',
    answer: { body: { ...directory, newNonce: 'https://169.254.169.254/latest/meta-data' } },
    says: /only non-public addresses/,
  },
  {
    name: 'a nonce that is none',
    on: '/nonce',
    answer: { headers: { 'replay-nonce': 'not a nonce!' } },
    says: /sent no nonce/,
  },
  {
    name: 'an account without an address',
    on: '/new-account',
    answer: { status: 201 },
    says: /an account without/,
  },
  {
    name: 'nothing but bad nonces',
    on: '/new-account',
    answer: { status: 400, body: { type: 'urn:ietf:params:acme:error:badNonce', detail: 'again' } },
    says: /badNonce/,
  },
  {
    name: 'an order without authorizations',
    on: '/new-order',
    answer: {
      status: 201,
      headers: { location: 'https://127.0.0.1:1/o' },
      body: { status: 'pending', authorizations: [], finalize: 'https://127.0.0.1:1/f' },
    },
    says: /an order whose "authorizations" is missing/,
  },
  {
    name: 'an order in no known state',
    on: '/new-order',
    answer: {
      status: 201,
      headers: { location: 'https://127.0.0.1:1/o' },
      body: {
        status: 'perhaps',
        authorizations: ['https://127.0.0.1:1/a'],
        finalize: 'https://127.0.0.1:1/f',
      },
    },
    says: /an order whose "status" is missing/,
  },
  {
    name: 'a problem with control characters and no end',
    on: '/new-order',
    answer: { status: 500, body: { type: 7, detail: `\u0000\u001b[31m${huge.slice(0, 9000)}` } },
    says: /^The CA rejects the request \(unknown\): \[31mx{300,400}$/,
  },
  {
    name: 'a certificate that is none',
    on: '/certificate',
    answer: { body: 'hello' },
    says: /cannot be used/,
  },
  { name: 'a huge certificate', on: '/certificate', answer: { body: huge }, says: /more than 131072 bytes/ },
]

suite('an authority that answers with', () => {
  let authority: FakeAuthority
  const open = useFakes(made => (authority = made))

  for (const { name, on, answer, says } of cases) {
    test(`${name} is reported as a temporary failure`, async () => {
      await using world = await open()
      const domain = await world.reserve('hostile.example.com')
      authority.answers = ({ path }) => (path.startsWith(on) ? answer : undefined)
      await world.issue({ retryMs: 60_000 })
      const job = await world.failure(domain.id)
      assert.equal(job.error_code, 'INTERNAL_ERROR')
      assert.match(job.msg, says)
      assert.ok(authority.messages.length < 30, 'it does not retry without end')
      assert.deepEqual(await world.rows('tls_certificate'), [])
    })
  }

  test('a certificate of others does not use it', async () => {
    await using world = await open()
    const other = await world.reserve('other.example.com')
    await world.issue({ retryMs: 60_000 })
    const { certificate_pem: pem } = await world.issued(other.id)
    const domain = await world.reserve('mine.example.com')
    authority.answers = ({ path }) => (path.startsWith('/certificate') ? { body: pem } : undefined)
    const job = await world.failure(domain.id)
    assert.match(job.msg, /private key does not belong to the certificate/)
  })

  test('a certificate that has expired does not use it', async () => {
    await using world = await open()
    const domain = await world.reserve('over.example.com')
    authority.validity = { from: -7_200_000, to: -3_600_000 }
    await world.issue({ retryMs: 60_000 })
    const job = await world.failure(domain.id)
    assert.match(job.msg, /it expired on .* Is the clock of this server right/)
  })
})
