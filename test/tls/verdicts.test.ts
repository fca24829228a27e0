import 'reflect-metadata'
import assert from 'node:assert/strict'
import { Extension, ExtendedKeyUsage, KeyUsageFlags } from '@peculiar/x509'
import { once } from 'node:events'
import { connect } from 'node:tls'
import { after, before, suite, test } from 'node:test'
import { HOST } from '../gateway/listeners/support.ts'
import { authority, issueCertificate, type TestCertificate } from './test-certificates.ts'
import { startMutualTls, VERSIONS, type MutualTlsServer } from './support.ts'

const HOUR = 3_600_000
const scope = 'edge 1'

/** Lets authorities vouch only for names under a domain. */
function onlyNamesUnder(domain: string): Extension {
  const wrap = (tag: number, content: Buffer) => Buffer.concat([Buffer.from([tag, content.length]), content])
  const subtree = wrap(0x30, wrap(0x82, Buffer.from(domain)))
  return new Extension('2.5.29.30', true, new Uint8Array(wrap(0x30, wrap(0xa0, subtree))))
}

/** An authority that is vouched for by one, which is vouched for by one, and so on. */
async function chainOf(length: number, root: TestCertificate): Promise<TestCertificate> {
  let last = root
  for (let depth = 0; depth < length; depth++) last = await authority({ issuer: last })
  return last
}

suite('SEC-21: a client whose certificate', () => {
  let server: MutualTlsServer
  let [root, second, stranger, middle, narrow, short, expired]: TestCertificate[] = []

  before(async () => {
    root = await authority({ name: 'root' })
    second = await authority({ name: 'second' })
    stranger = await authority({ name: 'stranger' })
    middle = await authority({ name: 'middle', issuer: stranger })
    narrow = await authority({ issuer: root, more: [onlyNamesUnder('good.example')] })
    short = await authority({ issuer: root, authority: 0 })
    expired = await authority({ name: 'expired', to: Date.now() - HOUR })
    const listed = [root, second, middle, expired]
    server = await startMutualTls({ clients: { authorities: listed.map(each => each?.pem).join(''), scope } })
  })
  after(() => server[Symbol.asyncDispose]())

  /** OpenSSL's name for the fault; empty for a valid chain to a listed CA. */
  const cases: readonly (readonly [title: string, fault: string, make: () => Promise<TestCertificate>])[] = [
    ['is of the first authority', '', () => issueCertificate({ issuer: given(root) })],
    ['is of the second authority', '', () => issueCertificate({ issuer: given(second) })],
    [
      'is of an authority whose own issuer is not listed',
      '',
      () => issueCertificate({ issuer: given(middle) }),
    ],
    [
      'is of the unlisted issuer of a listed one',
      'self-signed certificate in certificate chain',
      () => issueCertificate({ issuer: given(stranger) }),
    ],
    ['is signed by itself', 'self-signed certificate', () => issueCertificate()],
    [
      'comes with the authority between',
      '',
      async () => issueCertificate({ issuer: await authority({ issuer: given(root) }) }),
    ],
    [
      'comes without the authority between',
      'unable to get local issuer certificate',
      async () => {
        const leaf = await issueCertificate({ issuer: await authority({ issuer: given(root) }) })
        return { ...leaf, chain: leaf.pem }
      },
    ],
    [
      'is of an authority that only has the name of a listed one',
      'certificate signature failure',
      async () => issueCertificate({ issuer: await authority({ name: 'root' }) }),
    ],
    [
      'comes with a listed authority that has not signed it',
      'certificate signature failure',
      async () => {
        const leaf = await issueCertificate({ issuer: await authority({ name: 'root' }) })
        return { ...leaf, chain: leaf.pem + given(root).pem }
      },
    ],
    [
      'has expired',
      'certificate has expired',
      () => issueCertificate({ issuer: given(root), to: Date.now() - HOUR }),
    ],
    [
      'is not valid yet',
      'certificate is not yet valid',
      () => issueCertificate({ issuer: given(root), from: Date.now() + HOUR }),
    ],
    [
      'is of a listed authority that has expired',
      'certificate has expired',
      () => issueCertificate({ issuer: given(expired) }),
    ],
    [
      'is of an authority between that has expired',
      'certificate has expired',
      async () =>
        issueCertificate({ issuer: await authority({ issuer: given(root), to: Date.now() - HOUR }) }),
    ],
    [
      'is for servers only',
      'unsuitable certificate purpose',
      () => issueCertificate({ issuer: given(root), usages: [ExtendedKeyUsage.serverAuth] }),
    ],
    [
      'is for mail only',
      'unsuitable certificate purpose',
      () => issueCertificate({ issuer: given(root), usages: [ExtendedKeyUsage.emailProtection] }),
    ],
    [
      'is for servers and clients',
      '',
      () =>
        issueCertificate({
          issuer: given(root),
          usages: [ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth],
        }),
    ],
    ['says nothing of its use', '', () => issueCertificate({ issuer: given(root), usages: [] })],
    [
      'is not for signatures',
      'unsuitable certificate purpose',
      () => issueCertificate({ issuer: given(root), keyUsages: KeyUsageFlags.keyEncipherment }),
    ],
    [
      'is of an authority between for servers only',
      'unsuitable certificate purpose',
      async () =>
        issueCertificate({
          issuer: await authority({ issuer: given(root), usages: [ExtendedKeyUsage.serverAuth] }),
        }),
    ],
    [
      'is signed by another client',
      'key usage does not include certificate signing',
      async () => issueCertificate({ issuer: await issueCertificate({ issuer: given(root) }) }),
    ],
    [
      'is signed by another client whose key may sign certificates',
      'unsuitable certificate purpose',
      async () =>
        issueCertificate({
          issuer: await issueCertificate({ issuer: given(root), keyUsages: KeyUsageFlags.keyCertSign }),
        }),
    ],
    [
      'is of an authority between whose key may not sign certificates',
      'key usage does not include certificate signing',
      async () =>
        issueCertificate({
          issuer: await authority({ issuer: given(root), keyUsages: KeyUsageFlags.digitalSignature }),
        }),
    ],
    [
      'is of an authority that may not have others below',
      '',
      () => issueCertificate({ issuer: given(short) }),
    ],
    [
      'is of one below an authority that may not have others',
      'path length constraint exceeded',
      async () => issueCertificate({ issuer: await authority({ issuer: given(short) }) }),
    ],
    [
      'has a name that its authority may vouch for',
      '',
      () => issueCertificate({ issuer: given(narrow), names: [{ type: 'dns', value: 'a.good.example' }] }),
    ],
    [
      'has a name that its authority may not vouch for',
      'permitted subtree violation',
      () => issueCertificate({ issuer: given(narrow), names: [{ type: 'dns', value: 'a.evil.example' }] }),
    ],
    [
      'has one name that its authority may not vouch for beside one that it may',
      'permitted subtree violation',
      () =>
        issueCertificate({
          issuer: given(narrow),
          names: [
            { type: 'dns', value: 'a.good.example' },
            { type: 'dns', value: 'a.evil.example' },
          ],
        }),
    ],
    [
      'has an unknown critical extension',
      'unhandled critical extension',
      () =>
        issueCertificate({
          issuer: given(root),
          more: [new Extension('1.2.3.4.5', true, Uint8Array.of(5, 0))],
        }),
    ],
    [
      'is twenty authorities away',
      '',
      async () => issueCertificate({ issuer: await chainOf(20, given(root)) }),
    ],
    [
      'is twenty authorities away from a stranger',
      'self-signed certificate in certificate chain',
      async () => issueCertificate({ issuer: await chainOf(20, given(stranger)) }),
    ],
  ]

  for (const [title, fault, make] of cases) {
    test(`${title} is ${fault === '' ? 'served' : 'refused'}`, async () => {
      const holder = await make()
      for (const maxVersion of VERSIONS) {
        const known = server.refusals.length
        const seen = await server.meet(holder, { maxVersion })
        assert.equal(seen !== undefined, fault === '', maxVersion)
        if (fault !== '')
          assert.match(String(server.refusals[known]), new RegExp(`: ${fault}\\.$`), maxVersion)
      }
    })
  }

  test('is not there is refused with an alert', async () => {
    for (const [maxVersion, alert] of [
      ['TLSv1.2', /alert handshake failure/],
      ['TLSv1.3', /alert certificate required/],
    ] as const) {
      const client = connect({ host: HOST, port: server.https.port, ...server.by(undefined, { maxVersion }) })
      const [error] = (await once(client, 'error')) as [Error]
      assert.match(error.message, alert)
    }
  })
})

const given = (one: TestCertificate | undefined): TestCertificate => {
  if (one === undefined) throw new Error('there is no certificate yet')
  return one
}
