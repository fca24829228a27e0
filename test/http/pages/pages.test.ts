import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { suite, test } from 'node:test'
import type { CatalogEntry } from '#base/catalog/entry.ts'
import { catalog } from '#base/catalog.ts'
import type { ErrorName } from '#base/errors.ts'
import { errorReply, redirectReply } from '#http/pages.ts'
import { hints } from '#base/hints/hints.ts'
import { asked, contentOf, sentReply } from './read-reply.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'

const hostile = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '&lt;b&gt;',
  'a\u0000b\u001b[31mred',
  'a\u2028b\u202etxet',
  'x'.repeat(5000),
  '$(reboot).adit.localhost',
  'a;reboot',
  '-rf.adit.localhost',
  '{host}{reason}',
]

suite('a page', () => {
  for (const [accept, type] of [
    [BROWSER, 'text/html'],
    ['text/html', 'text/html'],
    ['TEXT/HTML;q=0.5', 'text/html'],
    ['text/html;q=0.5, application/json', 'application/json'],
    ['application/json', 'application/json'],
    ['application/problem+json', 'application/json'],
    ['text/html, application/json', 'text/html'],
    ['text/html;q=0', 'text/plain'],
    ['text/html;q=nonsense', 'text/plain'],
    ['application/json;q=0.9, */*;q=0.1', 'application/json'],
    ['*/*', 'text/plain'],
    ['', 'text/plain'],
    [',;,;=,text', 'text/plain'],
    ['text/html,'.repeat(3000), 'text/html'],
    [`text/html"><script>`, 'text/plain'],
  ]) {
    test(`is ${type} for Accept: ${accept?.slice(0, 60)}`, () => {
      const reply = errorReply('endpoint_offline', asked('demo.adit.localhost', accept))
      assert.equal(reply.head.fields.get('content-type'), `${type}; charset=utf-8`)
      assert.doesNotMatch(contentOf(reply), /<script/)
    })
  }

  test('is plain text where the request could not be parsed', () => {
    const reply = errorReply('bad_message', undefined, { reason: 'two Host fields' })
    assert.equal(reply.head.status, 400)
    assert.match(contentOf(reply), /^Bad request: two Host fields\.\n/)
  })

  for (const name of hostile) {
    const shown = JSON.stringify(name.slice(0, 40))
    test(`SEC-22: reflects nothing raw of the host ${shown}`, () => {
      const html = contentOf(errorReply('endpoint_offline', asked(name, BROWSER)))
      // Of the signs that mean something in HTML only those of the page itself are left.
      const own = contentOf(errorReply('endpoint_offline', asked('', BROWSER)))
      for (const sign of ['<', '>', '"', "'"])
        assert.equal(html.split(sign).length, own.split(sign).length, `a raw ${sign}`)
      for (const sign of ['\0', '\u001b', '\u2028', '\u202e']) assert.ok(!html.includes(sign))
      assert.ok(html.length < own.length + 2000)
    })

    test(`puts no unsafe name into a command: ${shown}`, () => {
      assert.match(contentOf(errorReply('endpoint_offline', asked(name))), /^ {2}adit http 3000$/m)
    })

    test(`has a head of known form for a realm of ${shown}`, () => {
      const { head } = errorReply('password_required', asked(name), { realm: name })
      assert.match(head.fields.text, /^(?:[A-Za-z-]+: [\x20-\x7e]+\r\n)+$/)
      assert.match(head.fields.get('www-authenticate') ?? '', /^Basic realm="[^"\\]*", charset="UTF-8"$/)
    })
  }

  test('SEC-22: escapes values of the text too', () => {
    const reply = errorReply('upstream_invalid', asked('a.test', BROWSER), { reason: '<b>"bold"</b>' })
    assert.match(contentOf(reply), /&lt;b&gt;&quot;bold&quot;&lt;\/b&gt;/)
  })

  test('is valid JSON, whatever the host', () => {
    for (const name of hostile) {
      const { msg, ...rest } = JSON.parse(
        contentOf(errorReply('endpoint_offline', asked(name, 'application/json'))),
      )
      assert.match(msg, /is offline\.$/)
      assert.equal(rest.error_code, 'ERR_ADIT_3200')
      assert.equal(rest.status_code, 404)
    }
  })

  test('shows the owner the exact command, shortened under the shared domain', () => {
    const full = contentOf(errorReply('endpoint_offline', asked('demo.adit.localhost')))
    assert.match(full, /^ {2}adit http 3000 --name demo\.adit\.localhost$/m)
    const short = errorReply('endpoint_offline', asked('demo.adit.localhost'), { domain: 'adit.localhost' })
    assert.match(contentOf(short), /^ {2}adit http 3000 --name demo$/m)
  })

  test('has only a head for HEAD, with the length of the content', () => {
    const get = sentReply(errorReply('endpoint_offline', asked('a.test', BROWSER)))
    const head = sentReply(errorReply('endpoint_offline', asked('a.test', BROWSER, 'HEAD')))
    assert.equal(contentOf(head), '')
    assert.deepEqual(head.head.framing, { kind: 'none' })
    assert.equal(head.head.announcedLength, Buffer.byteLength(contentOf(get)))
    assert.equal(head.head.fields.text, get.head.fields.text)
  })

  test('allows the style that it has and nothing else', () => {
    const reply = sentReply(errorReply('endpoint_offline', asked('a.test', BROWSER)))
    const html = contentOf(reply)
    const style = /<style>([^<]*)<\/style>/.exec(html)?.[1] ?? ''
    const hash = createHash('sha256').update(style).digest('base64')
    const policy = reply.head.fields.get('content-security-policy') ?? ''
    assert.ok(policy.startsWith(`default-src 'none'; style-src 'sha256-${hash}';`), policy)
    assert.doesNotMatch(html, /<script|<link|<img|\bsrc=|\bhref=|style=|url\(|@import| on\w+=/i)
    assert.match(html, /prefers-color-scheme:dark/)
    assert.match(html, /width=device-width/)
  })

  test('is never cached, sniffed or leaked by Referer', () => {
    const { fields } = errorReply('endpoint_offline', asked('a.test')).head
    assert.equal(fields.get('cache-control'), 'no-store')
    assert.equal(fields.get('x-content-type-options'), 'nosniff')
    assert.equal(fields.get('referrer-policy'), 'no-referrer')
  })

  for (const name of Object.keys(hints) as ErrorName[]) {
    test(`for ${name} has the status, the code and both headers of the catalogue`, () => {
      const entry: CatalogEntry = catalog[name]
      const values = { reason: 'r', ip: '::1', limit: 1, seconds: 2 }
      const reply = sentReply(errorReply(name, asked('a.test', BROWSER), values))
      assert.equal(reply.head.status, entry.status)
      assert.notEqual(reply.head.reason, '')
      assert.equal(reply.head.fields.get('adit-error-code'), `ERR_ADIT_${entry.number}`)
      assert.equal(reply.head.fields.get('ngrok-error-code'), `ERR_NGROK_${entry.number}`)
      assert.equal(reply.head.fields.get('retry-after'), [503, 429].includes(entry.status) ? '5' : undefined)
      assert.equal(reply.head.fields.get('www-authenticate') !== undefined, name === 'password_required')
      assert.match(contentOf(reply), new RegExp(`ERR_ADIT_${entry.number}`))
      assert.doesNotMatch(contentOf(reply), /[{](?:name|host|reason|port|labels)[}]/)
      const framing = { kind: 'length', length: Buffer.byteLength(contentOf(reply)) }
      assert.deepEqual(reply.head.framing, framing)
    })
  }

  test('has Retry-After where it is known', () => {
    const { fields } = errorReply('gateway_full', asked('a.test'), { retryAfter: 17 }).head
    assert.equal(fields.get('retry-after'), '17')
  })
})

suite('a redirect', () => {
  test('has a Location that cannot inject a header', () => {
    const { head } = redirectReply('https://a.test/x y\r\nSet-Cookie: a=b?q=\u00e9"', 308)
    assert.equal(head.status, 308)
    assert.equal(head.reason, 'Permanent Redirect')
    assert.equal(head.fields.get('location'), 'https://a.test/x%20ySet-Cookie:%20a=b?q=%C3%A9%22')
    assert.equal(head.fields.get('set-cookie'), undefined)
  })

  for (const address of ['javascript:alert(1)', 'data:text/html,x', '/relative', '']) {
    test(`refuses ${address || 'nothing'}`, () => {
      assert.throws(() => redirectReply(address, 302), TypeError)
    })
  }
})
