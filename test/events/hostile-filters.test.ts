import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { Problem } from '#base/errors.ts'
import { eventFilter } from '#contract/events/filter.ts'

/** Of which expressions are made, right ones and wrong ones. */
const fragments = [
  'ev',
  '.conn',
  '.server_name',
  '.server_port',
  '.matches(',
  '"a"',
  '("',
  ')',
  '(',
  '[',
  ']',
  '{',
  '}',
  ' in ',
  ' == ',
  ' && ',
  ' || ',
  '!',
  '-',
  '1',
  '443',
  'true',
  ' ? ',
  ' : ',
  ',',
  'has(',
  'size(',
  '.',
  'cel.bind(',
  '.map(x,',
  'x',
  'b"',
  "'",
  '\\',
  '"""',
  '//',
  '\n',
  '\u0000',
  '0x',
  '1e9',
  'null',
  '+',
]

const TYPE = 'http_request_complete.v0'

function refusedAs(filter: string): Problem {
  try {
    eventFilter(TYPE, filter)
  } catch (error) {
    assert.ok(error instanceof Problem, `${filter.slice(0, 100)}: ${String(error)}`)
    assert.equal(error.status, 400)
    assert.equal(error.field, 'filter')
    assert.ok(error.message.length < 1000)
    return error
  }
  throw new assert.AssertionError({ message: `${filter.slice(0, 100)} was taken` })
}

const refused: readonly [what: string, filter: string, number: number, says?: RegExp][] = [
  ['nothing', '', 5404],
  ['spaces', '  \n ', 5404],
  ['half an expression', 'ev.conn.server_port ==', 5404, /at character 23/],
  ['two expressions', 'true true', 5404, /at character 6/],
  ['an assignment', 'ev.conn.server_port = 1', 5404, /at character 21/],
  ['a text that does not end', '"a', 5404],
  ['ev itself', 'ev', 5404, /ev must be followed by a field/],
  ['ev compared with itself', 'ev == ev', 5404],
  ['a group of fields', 'ev.conn == ev.conn', 5405, /"conn"/],
  ['a field of a field', 'ev.conn.server_name.length == 1', 5405],
  ['another name', 'request.path == "/"', 5404, /"request" is unknown/],
  ['the library’s own names', 'cel == cel', 5404],
  ['the types of protobuf', 'google.protobuf.Duration == google.protobuf.Duration', 5404],
  ['inherited names', 'ev.__proto__ == 1', 5405],
  ['a constructor', 'ev.constructor.name == "a"', 5405],
  [
    'an inherited method',
    'ev.conn.server_name.constructor("a") == ""',
    5404,
    /"constructor" is not a function/,
  ],
  ['a number', '1', 5404, /of type int/],
  ['a text', 'ev.conn.server_name', 5404, /of type string/],
  ['a number that is compared with a text', 'ev.conn.server_port == "443"', 5404, /int == string/],
  ['a text in a list of numbers', 'ev.conn.server_name in [1]', 5404],
  ['a mixed list', 'ev.conn.server_port in [1, "a"]', 5404],
  ['a number that is no truth', '!ev.conn.server_port', 5404],
  ['a text for a truth', 'true && ev.conn.server_name', 5404],
  ['a method of texts on a number', 'ev.conn.server_port.startsWith("4")', 5404],
  ['a branch of another type', 'true ? true : 1', 5404],
  ['a fraction', 'ev.conn.server_port == 443.0', 5404],
  ['null', 'ev.conn.server_name == null', 5404],
  ['bytes', 'b"a" == b"a"', 5404],
  ['a map', '{"a": 1} == {"a": 1}', 5404],
  ['an index', 'ev["conn"]["server_port"] == 1', 5404],
  ['a list on its own', '[1] == [1]', 5404],
  ['a computed list', 'ev.conn.server_port in [ev.conn.server_port]', 5404],
  ['a text as list', 'ev.conn.server_name in "abc"', 5404],
  ['arithmetic', 'ev.conn.server_port + 1 == 444', 5404, /\+ cannot be used/],
  ['texts that grow', 'ev.conn.server_name + ev.conn.server_name == ""', 5404],
  ['a function that does not exist', 'explode(ev.conn.server_name)', 5404, /"explode" is not a function/],
  ['a method that does not exist', 'ev.conn.server_name.explode()', 5404],
  ['anything dynamic', 'dyn(1) == dyn("a")', 5404],
  ['a type', 'type(1) == int', 5404],
  ['a clock', 'timestamp("2024-01-01T00:00:00Z").getHours("UTC") == 1', 5404],
  ['two values for has', 'has(ev.conn.server_name, ev.conn.server_name)', 5404],
  ['has of a text', 'has("a")', 5404],
  ['splitting', 'ev.conn.server_name.split("").join("x") == ""', 5404],
  ['a loop', '[1, 2].all(x, x > 0)', 5404, /"all" is not a function/],
  ['a binding', 'cel.bind(a, ev.conn.server_name, a == a)', 5404],
  ['a pattern that is none', 'ev.conn.server_name.matches("(")', 5404, /at character 29: not a regular/],
  ['a pattern that looks back', 'ev.conn.server_name.matches("(a)\\\\1")', 5404, /not a regular expression/],
  ['a pattern from the event', 'ev.conn.server_name.matches(ev.conn.client_ip)', 5404, /in quotes/],
  ['a pattern that is a number', 'ev.conn.server_name.matches(1)', 5404, /in quotes/],
  ['a large pattern', 'ev.conn.server_name.matches("(a|b|c){500}")', 5404, /too large/],
  ['a pattern that explodes', 'ev.conn.server_name.matches("((a{100}){100}){100}")', 5404],
  [
    'many patterns',
    Array.from({ length: 90 }, () => 'ev.conn.server_name.matches("a+b")').join('||'),
    5404,
    /too large in total/,
  ],
  ['nested parentheses', `${'('.repeat(2000)}true${')'.repeat(2000)}`, 5404, /too deeply nested/],
  ['nested lists', `1 in ${'['.repeat(2000)}${']'.repeat(2000)}`, 5404],
  ['nested branches', `${'true ? true : '.repeat(290)}true`, 5404, /too deeply nested/],
  ['nested calls', `${'size('.repeat(800)}"a"`, 5404],
  ['a long chain of fields', `ev${'.a'.repeat(2000)}`, 5404],
  ['many negations', `${'!'.repeat(4092)}true`, 5404, /too long/],
  ['many signs', `1 == ${'-'.repeat(4000)}1`, 5404, /too long/],
  ['a long chain', `true${'&&true'.repeat(680)}`, 5404, /too long/],
  ['a long sum', `1${'+1'.repeat(2000)} == 1`, 5404],
  ['a long list', `1 in [${Array.from({ length: 2000 }, () => 1).join()}]`, 5404],
  ['a huge number', `ev.conn.server_port == ${'9'.repeat(4000)}`, 5404, /too large/],
  ['a huge name', `ev.${'a'.repeat(4000)} == 1`, 5405],
  ['a huge variable', `${'a'.repeat(4000)} == 1`, 5404],
  ['control characters', 'true \u0001', 5404],
]

suite('a hostile filter', () => {
  for (const [what, filter, number, says] of refused) {
    test(`with ${what} is refused when it is made`, () => {
      const problem = refusedAs(filter)
      assert.equal(problem.number, number, problem.message)
      if (says) assert.match(problem.message, says)
    })
  }

  test('of the deepest form that is taken can be evaluated', () => {
    const deep = [
      `${'!'.repeat(998)}true`,
      `true${'&&true'.repeat(499)}`,
      `false${'||false'.repeat(498)} || true`,
      `${'('.repeat(30)}true${')'.repeat(30)}`,
    ]
    for (const filter of deep) assert.equal(eventFilter(TYPE, filter).matches({}), true, filter.slice(0, 20))
  })

  test('with a pattern on which JavaScript’s own engine would hang is answered at once', () => {
    const long = { conn: { server_name: `${'a'.repeat(254)}!` } }
    for (const pattern of ['^(a+)+$', '^(a|a)*$', '^(a|aa)+$', '(.*a){20}b', '^(([a-z])+.)+[A-Z]([a-z])+$'])
      assert.equal(eventFilter(TYPE, `ev.conn.server_name.matches("${pattern}")`).matches(long), false)
  })

  test('does not match names with patterns that are longer than names can be', () => {
    const named = (length: number) => ({ conn: { server_name: 'a'.repeat(length) } })
    for (const filter of ['ev.conn.server_name.matches("a")', '!ev.conn.server_name.matches("b")']) {
      assert.equal(eventFilter(TYPE, filter).matches(named(255)), true)
      assert.equal(eventFilter(TYPE, filter).matches(named(256)), false)
    }
  })

  test('of whatever text is taken or refused, and never throws anything else', () => {
    const words = fc.constantFrom(...fragments)
    const texts = fc.oneof(
      fc.array(words, { maxLength: 40 }).map(parts => parts.join('')),
      fc.string({ unit: 'binary', maxLength: 200 }),
    )
    const objects = fc.oneof(fc.jsonValue(), fc.record({ conn: fc.jsonValue() }))
    fc.assert(
      fc.property(texts, objects, (text, object) => {
        try {
          assert.equal(typeof eventFilter(TYPE, text).matches(object), 'boolean')
        } catch (error) {
          assert.ok(error instanceof Problem, String(error))
          assert.equal(error.status, 400)
        }
      }),
      { numRuns: 3000 },
    )
  })
})
