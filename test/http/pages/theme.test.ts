import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { readSettings } from '#base/read-settings.ts'
import { errorReply, pageReply } from '#http/pages.ts'
import { readableOn } from '#http/pages/colours.ts'
import { pageTheme, type PageTheme } from '#http/pages/theme.ts'
import { Folder } from '../../support/folder.ts'
import { tunnelRecord } from '../../support/records.ts'
import { asked, contentOf, REQUEST_ID, sentReply } from './read-reply.ts'

const HTML = 'text/html'
const themed = (settings: Record<string, string>): PageTheme =>
  pageTheme(readSettings(new Map(Object.entries(settings)), {}))
const offline = (accept: string) => errorReply('endpoint_offline', asked('demo.test', accept))
const unreachable = (accept = HTML) => errorReply('upstream_unreachable', asked('demo.test', accept))
const requestTo = (forwardsTo: string) => ({ id: REQUEST_ID, tunnel: tunnelRecord({ forwardsTo }) })

suite('an error page', () => {
  test('shows the request id in every format', () => {
    assert.match(contentOf(offline(HTML)), new RegExp(`<p>Request <code>${REQUEST_ID}</code></p>`))
    assert.match(contentOf(offline('*/*')), new RegExp(`^ERR_ADIT_3200\nRequest ${REQUEST_ID}\n$`, 'm'))
    assert.equal(JSON.parse(contentOf(offline('application/json'))).details.request_id, REQUEST_ID)
  })

  test('links to the request in the dashboard if the operator has set its URL', () => {
    const theme = themed({ page_dashboard_url: 'https://dashboard.example.com/' })
    const url = `https://dashboard.example.com/dashboard/requests/${REQUEST_ID}`
    assert.ok(contentOf(offline(HTML), { theme }).includes(`<a href="${url}">Explain in the dashboard</a>`))
    assert.ok(contentOf(offline('*/*'), { theme }).endsWith(`\n${url}\n`))
    assert.equal(JSON.parse(contentOf(offline('application/json'), { theme })).details.request_url, url)
    assert.doesNotMatch(contentOf(offline(HTML)), /<a /)
  })

  for (const [forwardsTo, shown] of [
    ['http://localhost:3999', 'The service at localhost:3999 does not answer'],
    ['127.0.0.1:80', 'The service at 127.0.0.1:80 does not answer'],
    ['http://[::1]:8080', 'The service at [::1]:8080 does not answer'],
    ['http://10.1.2.3:8080', 'The service at port 8080 of its machine does not answer'],
    ['https://db.internal.example:8443', 'The service at port 8443 of its machine does not answer'],
    ['app server <script>', 'Start your service'],
    ['http://user:password@localhost:1', 'Start your service'],
    ['http://localhost:99999', 'Start your service'],
    ['ssh -R 0:localhost:80', 'Start your service'],
    ['', 'Start your service'],
  ] as const)
    test(`names the service of an agent that reported ${forwardsTo || 'nothing'}`, () => {
      const html = contentOf(unreachable(), { context: requestTo(forwardsTo) })
      assert.ok(html.includes(`<p>${shown}`), html)
      assert.doesNotMatch(html, /10\.1\.2\.3|internal|password|<script/)
    })

  test('shows the port in commands', () => {
    const gone = errorReply('agent_gone', asked('demo.test'))
    assert.match(
      contentOf(gone, { context: requestTo('localhost:3999') }),
      /^ {2}adit http 3999 --name demo\.test$/m,
    )
    const invalid = errorReply('upstream_invalid', asked('demo.test'), { reason: 'r' })
    assert.match(
      contentOf(invalid, { context: requestTo('http://localhost:3999') }),
      /^ {2}adit http https:\/\/localhost:3999 --name demo\.test$/m,
    )
  })
})

suite('hints', () => {
  const theme = themed({ page_hints: '10.0.0.0/8', page_dashboard_url: 'https://dashboard.example.com' })
  const context = requestTo('http://localhost:3999')

  for (const [ip, sees] of [
    ['10.20.30.40', true],
    ['::ffff:10.20.30.40', true],
    ['192.0.2.7', false],
    ['::1', false],
    ['', false],
  ] as const)
    test(`are ${sees ? 'shown to' : 'hidden from'} ${ip || 'a client without an address'} if they are for 10.0.0.0/8`, () => {
      for (const accept of [HTML, 'application/json', '*/*']) {
        const text = contentOf(unreachable(accept), { theme, ip, context })
        for (const hint of ['localhost:3999', 'adit http', 'dashboard.example.com'])
          assert.equal(text.includes(hint), sees, `${accept}: ${hint}`)
        assert.ok(text.includes('ERR_ADIT_8012') && text.includes(REQUEST_ID), text)
        assert.match(text, /Reload the page in a moment/)
      }
    })

  test('are hidden together with causes that reveal the structure of the site', () => {
    const off = themed({ page_hints: 'off' })
    const closed = errorReply('not_servable', asked('a.test'), { reason: 'backend bkd_7 is gone' })
    assert.match(contentOf(closed), /bkd_7/)
    const text = contentOf(closed, { theme: off })
    assert.match(text, /^The edge of a\.test cannot be served\.$/m)
    assert.doesNotMatch(text, /bkd_7/)
    const own = errorReply('bad_message', asked('a.test'), { reason: 'two Host fields' })
    assert.match(contentOf(own, { theme: off }), /two Host fields/)
  })
})

suite('the theme of pages', () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><script>alert(1)</script></svg>'

  test('has the name as text, whatever it contains', () => {
    const theme = themed({ page_name: '"><img src=x> & Söhne' })
    const html = contentOf(offline(HTML), { theme })
    assert.equal(html.split('&quot;&gt;&lt;img src=x&gt; &amp; Söhne').length, 3, 'above and below')
    assert.doesNotMatch(html, /<img/)
  })

  test('has the logo within the page, and allows no other image', () => {
    using folder = new Folder()
    writeFileSync(folder.file('logo'), svg)
    const theme = themed({ page_logo: folder.file('logo'), page_name: 'A "B"' })
    const reply = sentReply(offline(HTML), { theme })
    const html = contentOf(reply)
    const encoded = Buffer.from(svg).toString('base64')
    assert.ok(html.includes(`<img src="data:image/svg+xml;base64,${encoded}" alt="A &quot;B&quot;">`))
    assert.match(reply.head.fields.get('content-security-policy') ?? '', /; img-src data:; base-uri 'none';/)
    assert.doesNotMatch(html, /<script/)
  })

  test('has the colours in its style, which the policy allows', () => {
    const theme = themed({ page_accent: '#F00', page_background: '#ffeecc' })
    const reply = sentReply(offline(HTML), { theme })
    const style = /<style>([^<]*)<\/style>/.exec(contentOf(reply))?.[1] ?? ''
    assert.match(style, /border-top:\.375rem solid #ff0000/)
    assert.match(style, /--back:#ffeecc;.*dark\){:root{[^}]*--back:#(?!ffeecc)/s)
    const hash = createHash('sha256').update(style).digest('base64')
    assert.ok(reply.head.fields.get('content-security-policy')?.includes(`style-src 'sha256-${hash}'`))
  })

  test('is the same for pages that are not errors, without a request id', () => {
    const theme = themed({ page_name: 'Example' })
    const page = {
      status: 200,
      code: '',
      title: 'Bye',
      text: 't',
      visitor: 'v',
      owner: undefined,
      command: undefined,
    }
    const html = contentOf(pageReply(asked('a.test', HTML), page), { theme })
    assert.match(html, /<header>Example<\/header>/)
    assert.doesNotMatch(html, /Request/)
  })

  test('keeps links readable whatever the accent colour', () => {
    const luminance = (hex: string): number => {
      const [r = 0, g = 0, b = 0] = [1, 3, 5].map(at => {
        const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
      })
      return 0.2126 * r + 0.7152 * g + 0.0722 * b
    }
    for (const ground of ['#ffffff', '#1b1e22'])
      for (const accent of ['#000000', '#ffffff', '#ffff00', '#0000ff', '#777777', '#ff0000', '#00ff00']) {
        const pair = [luminance(ground), luminance(readableOn(ground, accent))].toSorted((a, b) => b - a)
        const contrast = ((pair[0] ?? 0) + 0.05) / ((pair[1] ?? 0) + 0.05)
        assert.ok(contrast >= 4.5, `${accent} on ${ground}: ${contrast}`)
      }
    assert.equal(readableOn('#ffffff', '#0b6bcb'), '#0b6bcb', 'a readable colour stays')
  })

  test('is refused with a reason if a value is unusable', () => {
    using folder = new Folder()
    const write = (name: string, content: string | Buffer): string => {
      writeFileSync(folder.file(name), content)
      return folder.file(name)
    }
    for (const [name, value, reason] of [
      ['page_accent', 'red;}body{display:none', /must be a colour such as/],
      ['page_accent', 'null', /must be a colour such as/],
      ['page_background', 'url(https://evil.test)', /must be a colour such as/],
      ['page_name', ' ', /must be 1 to 64 printable characters/],
      ['page_name', 'x'.repeat(65), /must be 1 to 64 printable characters/],
      ['page_name', 'a\u202eb', /must be 1 to 64 printable characters/],
      ['page_hints', 'some', /must be on, off, or comma-separated networks/],
      ['page_hints', '10.0.0.0/99', /must be comma-separated networks/],
      ['page_dashboard_url', 'javascript:alert(1)', /must be a URL/],
      ['page_logo', folder.file('absent'), /must be a readable file: ENOENT/],
      [
        'page_logo',
        write('page.html', '<html><svg>'),
        /must be a PNG, JPEG, WebP or SVG file of at most 32 KiB/,
      ],
      ['page_logo', write('large.svg', svg + ' '.repeat(32 * 1024)), /of at most 32 KiB/],
    ] as const)
      assert.throws(() => themed({ [name]: value }), reason, `${name} ${value}`)
  })
})
