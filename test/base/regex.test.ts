import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { RE2JS } from 're2js'
import { goRegex } from '#base/go-regex.ts'
import { PatternBudget } from '#base/regex/pattern-budget.ts'
import { isPlain, patternSize } from '#base/regex/pattern-size.ts'

const atoms = [
  'a',
  'b',
  '.',
  '\\d',
  '\\w',
  '\\pL',
  '\\PN',
  '[a-c]',
  '[^a]',
  '[]a]',
  '[^]a]',
  '[\\]b]',
  '[[:alpha:]x]',

  '[[:^digit:]]',
  '[a-\\x{1f600}]',
  '\\Qa(b[\\E',
  '\\Q',
  '\\E',
  '\\b',
  '\\B',
  '^',
  '$',
  '\\z',
  '\\A',

  'é',
  '\\x{e9}',
  '\\x41',
  '\\101',
  '😀',
  '\\.',
  '\n',
  '(?i)A',
  '(?-i)',
  '(?m)^',
  '(?m:$)',
  '(?s:.)',
  '\\C',

  '',
  '|',
  '{2',
  '{,3}',
  '[',
  ']',
  ')',
  '()',
  '(|a)',
]
const repeats = [
  '',
  '*',
  '+',
  '?',
  '*?',
  '??',
  '{2}',
  '{0}',
  '{0,1}',
  '{0,3}',
  '{1,}',
  '{0,}',
  '{3,5}',
  '{2,3}?',
]
const heads = ['(', '(?:', '(?i:', '(?P<n>', '(?<m>']

const { pattern } = fc.letrec<{ pattern: string; part: string }>(tie => ({
  pattern: fc.array(tie('part'), { maxLength: 4 }).map(parts => parts.join('')),
  part: fc
    .tuple(
      fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom(...atoms) },
        fc.tuple(fc.constantFrom(...heads), tie('pattern')).map(([head, inner]) => `${head}${inner})`),
        fc.tuple(tie('pattern'), tie('pattern')).map(([left, right]) => `(${left}|${right})`),
      ),
      fc.constantFrom(...repeats),
    )
    .map(parts => parts.join('')),
}))
const text = fc
  .array(fc.constantFrom('a', 'b', 'A', '1', 'é', '😀', '\n', ' ', '.', '_', '(', '['))
  .map(all => all.join(''))

function reference(source: string): RE2JS | undefined {
  try {
    return RE2JS.compile(source)
  } catch {
    return undefined
  }
}

const unbounded = (): PatternBudget => new PatternBudget(Infinity)

suite('regular expressions', () => {
  test('match what the reference engine matches, whole and in slices', () => {
    fc.assert(
      fc.property(pattern, text, (source, given) => {
        const known = reference(source)
        const made = goRegex(source, unbounded())
        assert.equal('reason' in made, known === undefined, source)
        if ('reason' in made || !known) return
        const expected = known.test(given)
        assert.equal(made.test(given), expected)
        const search = made.search(given)
        let found: boolean | undefined
        while (found === undefined) found = search.run({ left: 1 })
        assert.equal(found, expected)
      }),
      { numRuns: 3000 },
    )
  })

  test('are never compiled to more than they are charged for', () => {
    fc.assert(
      fc.property(pattern, source => {
        const known = reference(source)
        fc.pre(known !== undefined && !isPlain(source))
        assert.ok(known.programSize() <= patternSize(source), `${source}: ${known.programSize()}`)
      }),
      { numRuns: 3000 },
    )
  })

  for (const [what, source] of [
    [
      'a class under many repetitions',
      `${'bcdefghijkl'
        .split('')
        .map(to => `[a-${to}]{0,900}`)
        .join('')}[xy]$`,
    ],
    ['nested repetitions', '((a{30}){30}){30}'],
    ['a repetition behind flags', 'a{900}(?i){900}'],
    ['a repetition behind quoted brackets', '\\Q[\\E(a{100}){100}'],
    ['a repetition behind a class with a bracket', '[]](a{100}){100}'],
    ['many Unicode classes', '[^\\pL]'.repeat(100)],
    ['many Unicode classes in one', `[${'\\pL'.repeat(300)}]`],
  ] as const)
    test(`exceed the budget before they are compiled: ${what}`, () => {
      const made = goRegex(source, new PatternBudget(1024))
      assert.ok('reason' in made && made.isTooLarge, source)
    })

  test('share one budget', () => {
    const budget = new PatternBudget(1024)
    const fit = Array.from({ length: 200 }, () => goRegex('(?i)googlebot', budget))
    const first = fit.findIndex(made => 'reason' in made)
    assert.ok(first > 60 && first < 100, String(first))
    assert.ok(fit.slice(first).every(made => 'reason' in made && made.isTooLarge))
  })
})
