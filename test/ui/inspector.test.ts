import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { asText, fromBase64, hexDump, toBase64 } from '#ui/bytes.ts'
import { diffLines } from '#ui/diff.ts'
import { byteSize, duration, formatted } from '#ui/format.ts'
import type { Summary } from '#ui/captured.ts'
import { filterOf } from '#ui/inspector/filter.ts'
import { shellQuoted } from '#ui/shell-quoted.ts'

const summary = (more: Partial<Summary>): Summary => ({
  id: 'airt_1',
  tunnel_name: 'web',
  start: '2026-01-01T00:00:00Z',
  method: 'GET',
  uri: '/a?b=c',
  status_code: 200,
  duration: 600_000_000,
  complete: true,
  response_size: 1000,
  replay_of: null,
  ...more,
})

suite('the filter', () => {
  for (const [filter, matches] of [
    ['', true],
    ['/a', true],
    ['get 200', true],
    ['-/a', false],
    ['status:2xx', true],
    ['status:5', false],
    ['status:(', true],
    ['method:post', false],
    ['duration:>500', true],
    ['duration:<500', false],
    ['size:>999 size:<1001', true],
    ['is:replay', false],
    ['-is:replay', true],
    ['tunnel:web', true],
    ['path:', true],
    ['unknown:x', false],
    ['constructor:x', false],
    ['-', true],
  ] as const)
    test(`"${filter}" ${matches ? 'matches' : 'does not match'}`, () =>
      assert.equal(filterOf(filter)(summary({})), matches))

  test('takes any text', () => {
    fc.assert(fc.property(fc.string(), text => typeof filterOf(text)(summary({})) === 'boolean'))
  })
})

suite('a word of a copied command', () => {
  // U+0000 cannot be an argument.
  const texts = [
    "it's",
    'a\\b',
    '$HOME `id`',
    '\u001b[201~\u001b#id\n',
    'x\u007f\u007f',
    'é\u009b2J',
    "'\u0003'",
    'a\nb\tc',
  ]
  for (const text of texts)
    test(`is the same for a shell, without control characters: ${JSON.stringify(text)}`, () => {
      const word = shellQuoted(text)
      // oxlint-disable-next-line no-control-regex -- these are what is looked for
      assert.doesNotMatch(word, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
      const env = { ...process.env, LC_ALL: 'C.UTF-8' }
      assert.equal(execFileSync('bash', ['-c', `printf %s ${word}`], { encoding: 'utf8', env }), text)
    })
})

suite('the diff', () => {
  test('leads from one text to the other', () => {
    const text = fc
      .array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 20 })
      .map(lines => lines.join('\n'))
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = diffLines(before, after)
        const without = (kind: string): string =>
          lines.flatMap(line => (line.kind === kind ? [] : [line.text])).join('\n')
        assert.equal(without('added'), before)
        assert.equal(without('removed'), after)
      }),
    )
  })

  test('names what changed, and no more', () => {
    assert.deepEqual(diffLines('a\nb\nc', 'a\nx\nc'), [
      { kind: 'same', text: 'a' },
      { kind: 'removed', text: 'b' },
      { kind: 'added', text: 'x' },
      { kind: 'same', text: 'c' },
    ])
  })
})

suite('bodies', () => {
  test('are indented by their type, and wrong ones are shown as they are', () => {
    assert.equal(formatted('{"a":1}', 'application/problem+json; charset=utf-8').text, '{\n  "a": 1\n}')
    assert.match(formatted('{"a":', 'application/json').problem ?? '', /^invalid JSON: /)
    assert.equal(formatted('<a><b>1</b><c/></a>', 'text/xml').text, '<a>\n  <b>1</b>\n  <c/>\n</a>')
    assert.equal(formatted('a=1&b=x%20y', 'application/x-www-form-urlencoded').text, 'a = 1\nb = x y')
    assert.equal(formatted('plain', 'text/plain').text, 'plain')
  })

  test('are text only when they are UTF-8 without control characters', () => {
    assert.equal(asText(Buffer.from('grün\n')), 'grün\n')
    assert.equal(asText(Buffer.from([0xff, 0xfe])), undefined)
    assert.equal(asText(Buffer.from([0x61, 0])), undefined)
    assert.equal(hexDump(Buffer.from('ab\u0000')), `00000000  61 62 00${' '.repeat(39)}  ab.`)
  })

  test('survive base64', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100_000 }), bytes => {
        assert.deepEqual(new Uint8Array(fromBase64(toBase64(bytes))), new Uint8Array(bytes))
      }),
      { numRuns: 20 },
    )
  })

  test('have sizes and durations that are read quickly', () => {
    assert.deepEqual([999, 1000, 1_500_000].map(byteSize), ['999 B', '1.0 kB', '1.5 MB'])
    assert.deepEqual([1_500_000, 250_000_000, 12_300_000_000].map(duration), ['1.5 ms', '250 ms', '12.3 s'])
  })
})
