import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Handler } from '#http/exchange.ts'
import { noBody } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import { userAgentFilterModule } from '#gateway/modules/user-agent-filter.ts'
import { parts, optionsOf, request } from './support.ts'

const place = { id: 'edghtsrt_1' }
const fromRecord = (allow: string[], deny: string[]): Handler =>
  userAgentFilterModule.fromRecord({ enabled: true, allow, deny }, place, parts)
const fromAgent = (UserAgentFilter: object): Handler | undefined =>
  userAgentFilterModule.fromAgent?.build(optionsOf({ UserAgentFilter }), place, parts)

async function verdict(handler: Handler, fields: string): Promise<number> {
  const reply = await handler(request(fields), async () => ({
    head: { status: 200, reason: 'OK', framing: noBody.framing, fields: Fields.none },
    body: noBody,
  }))
  if (reply.head.status === 403) assert.equal(reply.head.fields.get('ngrok-error-code'), 'ERR_NGROK_3211')
  return reply.head.status
}

suite('user agent filter', () => {
  for (const [name, allow, deny, fields, status] of [
    ['what matches no rule', ['a'], ['b'], 'User-Agent: curl/8\r\n', 200],
    ['what is denied', [], ['curl'], 'User-Agent: curl/8\r\n', 403],
    ['what is denied, in another case', [], ['(?i)CURL'], 'user-agent: curl/8\r\n', 403],
    ['another case, where case counts', [], ['CURL'], 'User-Agent: curl/8\r\n', 200],
    ['what is both denied and allowed', ['curl/8'], ['curl'], 'User-Agent: curl/8\r\n', 200],
    ['what only a longer pattern would match', [], ['^curl$'], 'User-Agent: curl/8\r\n', 200],
    ['no header', ['curl'], [], '', 403],
    ['no header, with an empty filter', [], [], '', 403],
    ['an empty header', [], ['x'], 'User-Agent: \r\n', 403],
    ['no header, where the empty text is allowed', ['^$'], ['.'], '', 200],
    ['a second header', [], ['evil'], 'User-Agent: good\r\nUser-Agent: evil\r\n', 200],
    ['a first header', [], ['evil'], 'User-Agent: evil\r\nUser-Agent: good\r\n', 403],
    [
      'letters beyond ASCII',
      [],
      ['^\\p{Cyrillic}+$'],
      `User-Agent: ${Buffer.from('бот').toString('latin1')}\r\n`,
      403,
    ],
    ['a header without end', ['.*'], [], `User-Agent: ${'a'.repeat(3000)}\r\n`, 403],
  ] as const) {
    test(`answers ${status} to ${name}`, async () => {
      const handler = fromRecord([...allow], [...deny])
      assert.equal(await verdict(handler, fields), status)
      // The cached verdict is the same.
      assert.equal(await verdict(handler, fields), status)
      const ofAgent = fromAgent({ allow, deny })
      assert.ok(ofAgent)
      assert.equal(await verdict(ofAgent, fields), status)
    })
  }

  test('still decides when its cache of user agents is full', async () => {
    const handler = fromRecord([], ['7$'])
    for (let count = 0; count < 2500; count++)
      assert.equal(await verdict(handler, `User-Agent: a${count}\r\n`), count % 10 === 7 ? 403 : 200)
  })

  test('accepts a pattern that causes catastrophic backtracking elsewhere', async () => {
    const handler = fromRecord([], ['^(a+)+$'])
    assert.equal(await verdict(handler, `User-Agent: ${'a'.repeat(1000)}!\r\n`), 200)
  })

  for (const pattern of ['(?=a)', '[a-', '(a{1000}){1000}', 'a**b(']) {
    test(`cannot be compiled with ${pattern}`, () => {
      assert.throws(() => fromRecord([pattern], []), { code: 'module_unusable', status: 503 })
      assert.throws(() => fromAgent({ deny: [pattern] }), { code: 'bind_option' })
    })
  }

  test('refuses too many patterns, and too long ones, of an agent', () => {
    assert.throws(() => fromAgent({ allow: Array(101).fill('a') }), { code: 'bind_option' })
    assert.throws(() => fromAgent({ allow: ['a'.repeat(1025)] }), { code: 'bind_option' })
    assert.throws(() => fromAgent({ allow: 'a' }), { code: 'bind_option' })
  })
})
