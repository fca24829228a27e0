import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import type { EgressAnswer } from '#base/egress.ts'
import { SnsCertificates } from '#webhooks/sns-certificates.ts'
import { selfSignedCertificate } from '#pki/self-signed.ts'

const address = (number: number): string =>
  `https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-${number}.pem`

suite('certificates of Amazon SNS', () => {
  let certificate = ''
  before(async () => {
    const made = await selfSignedCertificate({ commonName: 'sns', organization: 'Amazon', years: 1 })
    certificate = made.certificatePem
  })

  /** Counts calls, which are answered when `answer` is called. */
  const slow = () => {
    const waiting: (() => void)[] = []
    const asked: string[] = []
    const request = (url: string): Promise<EgressAnswer> => {
      asked.push(url)
      return new Promise(resolve => {
        waiting.push(() => resolve({ status: 200, headers: {}, body: Buffer.from(certificate) }))
      })
    }
    return { asked, request, answer: () => waiting.splice(0).forEach(each => each()) }
  }

  test('are fetched once, however many messages name them', async () => {
    const egress = slow()
    const certificates = new SnsCertificates(egress)
    const both = [certificates.keyAt(address(1), Date.now()), certificates.keyAt(address(1), Date.now())]
    egress.answer()
    for (const key of await Promise.all(both)) assert.notEqual(typeof key, 'string')
    assert.notEqual(typeof (await certificates.keyAt(address(1), Date.now())), 'string')
    assert.equal(egress.asked.length, 1)
  })

  test('are fetched few at a time', async () => {
    const egress = slow()
    const certificates = new SnsCertificates(egress)
    const keys = [1, 2, 3, 4, 5].map(number => certificates.keyAt(address(number), Date.now()))
    assert.equal(egress.asked.length, 4)
    egress.answer()
    const types = (await Promise.all(keys)).map(key => typeof key)
    assert.deepEqual(types, ['object', 'object', 'object', 'object', 'string'])
    const later = certificates.keyAt(address(5), Date.now())
    egress.answer()
    assert.equal(typeof (await later), 'object')
  })

  test('are kept in a number that does not grow', async () => {
    const asked: string[] = []
    const request = async (url: string): Promise<EgressAnswer> => {
      asked.push(url)
      return { status: 200, headers: {}, body: Buffer.from(certificate) }
    }
    const certificates = new SnsCertificates({ request })
    for (let number = 1; number <= 9; number++) await certificates.keyAt(address(number), Date.now())
    await certificates.keyAt(address(9), Date.now())
    assert.equal(asked.length, 9)
    await certificates.keyAt(address(1), Date.now())
    assert.equal(asked.length, 10)
  })

  test('are requested again when they could not be fetched', async () => {
    let calls = 0
    const request = async (): Promise<EgressAnswer> => {
      if (++calls === 1) throw new Error('unreachable')
      return { status: 200, headers: {}, body: Buffer.from(certificate) }
    }
    const certificates = new SnsCertificates({ request })
    assert.equal(typeof (await certificates.keyAt(address(1), Date.now())), 'string')
    assert.equal(typeof (await certificates.keyAt(address(1), Date.now())), 'object')
  })
})
