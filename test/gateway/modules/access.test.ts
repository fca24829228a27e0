import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Handler, Reply } from '#http/exchange.ts'
import { noBody } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import type { RequestHead } from '#http/head.ts'
import { basicAuthModule } from '#gateway/modules/basic-auth.ts'
import { ipRestrictionModule } from '#gateway/modules/ip-restriction.ts'
import { Records } from '#registry/records/records.ts'
import { modulePartsFor } from '../module-parts.ts'
import { info } from '../agents/support.ts'
import { secretText } from '../../support/secrets.ts'
import { optionsOf, request } from './support.ts'

async function visit(handler: Handler, exchange = request()): Promise<Reply & { sent?: RequestHead }> {
  let sent: RequestHead | undefined
  const reply = await handler(exchange, async passed => {
    sent = passed.head
    return {
      head: { status: 200, reason: 'OK', framing: noBody.framing, fields: Fields.none },
      body: noBody,
    }
  })
  return { ...reply, ...(sent && { sent }) }
}

suite('basic auth of an endpoint configuration', () => {
  const parts = modulePartsFor(info)
  const agent = optionsOf({
    Auth: 'old:form',
    BasicAuth: { credentials: [{ username: 'ann', cleartext_password: secretText('password') }] },
  })
  const build = (allow_options: boolean): Handler =>
    basicAuthModule.fromRecord(
      { enabled: true, auth_provider_id: 'agent', realm: 'the "realm"', allow_options },
      { id: 'ec_1', agent },
      parts,
    )
  const login = (text: string): string => `Authorization: Basic ${Buffer.from(text).toString('base64')}\r\n`
  const asking = (method: string) => ({ ...request(), head: { ...request().head, method } })

  test('requires the passwords that the agent sent, in the realm of the record', async () => {
    const refused = await visit(build(false))
    assert.equal(refused.head.status, 401)
    assert.equal(refused.head.fields.get('www-authenticate'), 'Basic realm="the realm", charset="UTF-8"')
    for (const text of [`ann:${secretText('password')}`, 'old:form'])
      assert.equal((await visit(build(false), request(login(text)))).sent?.fields.text, '')
    assert.equal((await visit(build(false), request(login('ann:form')))).head.status, 401)
  })

  test('delays an address that guesses passwords, but no other address or endpoint', async () => {
    const guess = (text: string, ip: string, id: string) =>
      visit(
        basicAuthModule.fromRecord(
          { enabled: true, auth_provider_id: 'agent', realm: 'adit', allow_options: false },
          { id, agent },
          parts,
        ),
        request(login(text), ip),
      )
    const right = `ann:${secretText('password')}`
    for (let count = 0; count < 10; count++)
      assert.equal((await guess(`ann:${count}`, '2001:db8::1', 'ec_guessed')).head.status, 401)
    for (const text of ['ann:11', right]) {
      const { head, sent } = await guess(text, '2001:db8::2', 'ec_guessed')
      assert.equal(head.status, 429)
      assert.match(head.fields.get('retry-after') ?? '', /^(1\d|20)$/)
      assert.equal(head.fields.get('adit-error-code'), 'ERR_ADIT_90271')
      assert.equal(sent, undefined)
    }
    assert.equal((await guess(right, '2001:db8:0:1::1', 'ec_guessed')).head.status, 200)
    assert.equal((await guess(right, '2001:db8::1', 'ec_other')).head.status, 200)
  })

  test('does not count requests without a password', async () => {
    for (let count = 0; count < 20; count++) await visit(build(false), request('', '198.51.100.9'))
    assert.equal((await visit(build(false), request(login('old:form'), '198.51.100.9'))).head.status, 200)
  })

  test('allows OPTIONS only where the record does', async () => {
    assert.equal((await visit(build(false), asking('OPTIONS'))).head.status, 401)
    assert.equal((await visit(build(true), asking('OPTIONS'))).head.status, 200)
    assert.equal((await visit(build(true), asking('GET'))).head.status, 401)
  })

  test('cannot be compiled without a password', () => {
    const record = { enabled: true, auth_provider_id: 'agent', realm: 'adit', allow_options: false }
    for (const place of [{ id: 'ec_1' }, { id: 'ec_1', agent: optionsOf({}) }])
      assert.throws(() => basicAuthModule.fromRecord(record, place, parts), { code: 'module_unusable' })
  })
})

suite('ip restriction of a record', () => {
  const rule = (id: string, cidr: string, action: string) => ({
    kind: 'ip_policy_rule',
    id,
    parent: null,
    version: 1,
    body: { ip_policy: 'ipp_1', cidr, action },
    readable: true,
  })

  test('follows changes of its policies', async () => {
    const records = new Records()
    const handler = ipRestrictionModule.fromRecord(
      { enabled: true, ip_policies: ['ipp_1'] },
      { id: 'edghtsrt_1' },
      modulePartsFor(info, records),
    )
    const refused = await visit(handler)
    assert.equal(refused.head.status, 403)
    assert.equal(refused.head.fields.get('ngrok-error-code'), 'ERR_NGROK_3203')
    records.changes([{ op: 'put', row: rule('ipr_1', '203.0.113.0/24', 'allow') }])
    assert.equal((await visit(handler)).head.status, 200)
    assert.equal((await visit(handler, request('', '::ffff:203.0.113.9'))).head.status, 200)
    assert.equal((await visit(handler, request('', '198.51.100.1'))).head.status, 403)
    records.changes([{ op: 'put', row: rule('ipr_2', '203.0.113.7/32', 'deny') }])
    assert.equal((await visit(handler)).head.status, 403)
    records.changes([{ op: 'remove', kind: 'ip_policy_rule', id: 'ipr_2' }])
    assert.equal((await visit(handler)).head.status, 200)
  })
})
