import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { LatencyHistogram } from '#base/latency-histogram.ts'

/** The same numbers in every run. */
function* sequence(seed: number): Generator<number, never> {
  for (let state = seed; ;) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    yield state / 2_147_483_648
  }
}

function histogramOf(values: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram()
  for (const value of values) histogram.add(value)
  return histogram
}

/** The value that exactly this share of all does not exceed. */
const exact = (values: readonly number[], share: number): number =>
  values.toSorted((one, other) => one - other)[Math.ceil(share * values.length) - 1] ?? Number.NaN

const random = sequence(42)
const draw = (of: (uniform: number) => number): number[] =>
  Array.from({ length: 5000 }, () => of(random.next().value))

const distributions: Readonly<Record<string, number[]>> = {
  'between 1 and 50 ms': draw(uniform => 1 + 49 * uniform),
  'from microseconds to an hour': draw(uniform => 0.1 * 10 ** (7.5 * uniform)),
  'with a few slow ones': draw(uniform => (uniform > 0.98 ? 30_000 * uniform : 5 + uniform)),
  'that are all equal': draw(() => 12.5),
}

suite('a histogram of response times', () => {
  for (const [name, values] of Object.entries(distributions))
    test(`finds quantiles of durations ${name} within 5 %`, () => {
      const histogram = histogramOf(values)
      for (const share of [0.5, 0.9, 0.99]) {
        const [found, wanted] = [histogram.quantile(share) ?? Number.NaN, exact(values, share)]
        assert.ok(Math.abs(found - wanted) <= 0.05 * wanted, `${share}: ${found} instead of ${wanted}`)
      }
    })

  test('is the same after it was merged from parts, and from text', () => {
    const values = distributions['from microseconds to an hour'] ?? []
    const merged = new LatencyHistogram()
    for (const part of [values.slice(0, 100), values.slice(100, 3000), values.slice(3000)])
      merged.mergeEncoded(histogramOf(part).encode())
    assert.equal(merged.encode(), histogramOf(values).encode())
    assert.equal(LatencyHistogram.decode(merged.encode()).encode(), merged.encode())
    assert.equal(merged.quantile(0.99), histogramOf(values).quantile(0.99))
  })

  test('has a short text', () => {
    assert.ok(histogramOf(distributions['between 1 and 50 ms'] ?? []).encode().length < 400)
    assert.equal(new LatencyHistogram().encode(), '')
  })

  test('counts what is beyond its bounds in the outer buckets', () => {
    const histogram = histogramOf([0, 0.000_1, 1e9])
    assert.ok((histogram.quantile(0.5) ?? 1) <= 0.1)
    assert.ok((histogram.quantile(1) ?? 0) > 3_500_000)
  })

  test('has no quantile without a value, and ignores text that it cannot read', () => {
    assert.equal(new LatencyHistogram().quantile(0.5), undefined)
    assert.equal(LatencyHistogram.decode('9999:1 x:2 :').quantile(0.5), undefined)
  })
})
