import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Secret } from '#base/secrets.ts'
import { signed, type AwsRequest } from '#events/destinations/aws/signature.ts'

const now = Date.parse('2015-08-30T12:36:00Z')
const keys = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: new Secret('wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'),
}
const at = (path: string): URL => new URL(`https://example.amazonaws.com${path}`)

/** The requests of AWS' own test suite for Signature Version 4, and the one of its documentation. */
const published: readonly (Partial<AwsRequest> & { name: string; service?: string; signature: string })[] = [
  { name: 'get-vanilla', signature: '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31' },
  {
    name: 'get-vanilla-query-order-key-case',
    url: at('/?Param2=value2&Param1=value1'),
    signature: 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  },
  {
    name: 'post-vanilla',
    method: 'POST',
    signature: '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  },
  {
    name: 'post-x-www-form-urlencoded',
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'Param1=value1',
    signature: 'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  },
  {
    name: 'post-header-key-sort',
    method: 'POST',
    headers: { 'my-header1': 'value1' },
    signature: 'c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c',
  },
  {
    name: 'get-header-value-trim',
    headers: { 'my-header1': ' value1', 'my-header2': ' "a   b   c"' },
    signature: 'acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736',
  },
  {
    name: 'the example of the documentation',
    url: new URL('https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08'),
    headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
    service: 'iam',
    signature: '5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
  },
]

suite('AWS Signature Version 4', () => {
  for (const { name, service = 'service', signature, ...given } of published) {
    test(`gives the published signature of ${name}`, () => {
      const request = { method: 'GET', url: at('/'), headers: {}, body: '', ...given }
      const { authorization, 'x-amz-date': date } = signed(request, {
        service,
        region: 'us-east-1',
        keys,
        now,
      })
      assert.equal(date, '20150830T123600Z')
      assert.match(
        authorization ?? '',
        new RegExp(`^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/${service}/aws4_request, `),
      )
      assert.equal(authorization?.split('Signature=')[1], signature)
    })
  }

  test('signs the token of a role as a header', () => {
    const request = { method: 'POST', url: at('/'), headers: {}, body: '' }
    const role = { ...keys, sessionToken: new Secret('a-token') }
    const headers = signed(request, { service: 'service', region: 'us-east-1', keys: role, now })
    assert.equal(headers['x-amz-security-token'], 'a-token')
    assert.match(headers['authorization'] ?? '', /SignedHeaders=host;x-amz-date;x-amz-security-token,/)
  })
})
