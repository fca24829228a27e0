import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import { ResumptionTokens, type ResumedTunnel } from '#gateway/agents/resumption-tokens.ts'
import { bindOptions } from '#tunnel/messages.ts'

const tokens = new ResumptionTokens(randomBytes(32))

const tunnelWith = (options: Record<string, unknown>): ResumedTunnel => ({
  id: 'tn_1',
  credentialId: 'cr_1',
  address: { scheme: 'https', host: 'shop.example.com' },
  startedAt: '2026-01-01T00:00:00Z',
  options: bindOptions(options, ''),
})

const header = (value: string): Record<string, unknown> => ({ RequestHeaders: { add: [`x-own:${value}`] } })

suite('the token of a tunnel', () => {
  for (const [name, options] of Object.entries({
    'no options': {},
    'some options': {
      Hostname: 'shop.example.com',
      HostHeaderRewrite: true,
      ProxyProto: 2,
      Compression: {},
      BasicAuth: { credentials: [{ username: 'ann', cleartext_password: 'x' }] },
    },
    'text in other scripts': header('Grüße ☃'),
    'options that need compression': header('y'.repeat(20_000)),
  }))
    test(`describes a tunnel with ${name}`, () => {
      const tunnel = tunnelWith(options)
      const token = tokens.token(tunnel)
      assert.ok(token.length <= 4096, `${token.length}`)
      assert.deepEqual(tokens.tunnel(token), tunnel)
    })

  test('leaves out options that are too large for it', () => {
    const tunnel = tunnelWith(header(randomBytes(8000).toString('hex')))
    assert.deepEqual(tokens.tunnel(tokens.token(tunnel)), { ...tunnel, options: undefined })
  })

  test('is invalid if it was modified or issued by another installation', () => {
    const token = tokens.token(tunnelWith({}))
    assert.equal(tokens.tunnel(token.slice(0, -4)), undefined)
    assert.equal(new ResumptionTokens(randomBytes(32)).tunnel(token), undefined)
    assert.equal(tokens.tunnel('{}'), undefined)
  })
})
