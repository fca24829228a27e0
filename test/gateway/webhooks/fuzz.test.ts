import { test } from 'node:test'
import fc from 'fast-check'
import { bodyVectors } from './body-vectors.ts'
import { oddVectors } from './odd-vectors.ts'
import { stampedVectors } from './stamped-vectors.ts'
import { CONTENT, judge, type Sent } from './support.ts'

const vectors = [...bodyVectors, ...stampedVectors, ...oddVectors].filter(
  ({ needs, content }) => needs.length > 0 && content !== 'unsigned',
)
const NOW = Date.now()

/** What a header field can hold. */
const value = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'=,; v1t0sha256-+/.:AZ9"'), maxLength: 200 }),
  fc.string({ maxLength: 60 }).map(text => text.replace(/[^\x20-\x7e]/g, '')),
)

/** Changes a piece of a text; the same text when there is nothing to change. */
const damage = (text: string, at: number, piece: string, cut: number): string => {
  const start = Math.floor(at * (text.length + 1))
  return text.slice(0, start) + piece + text.slice(start + cut)
}

/** The white space around a value is not part of it, and neither is the case of hex. */
const meaning = (text: string): string => text.trim().toLowerCase()

test('no damaged or invented signature passes, and none is a fault of ours', async () => {
  const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  for (const vector of vectors) {
    const good = await vector.make(NOW, CONTENT)
    const [name = ''] = vector.needs
    const right = good.headers[name] ?? ''
    const damaged = fc
      .tuple(place, value, fc.nat(80))
      .map(([at, piece, cut]) => damage(right, at, piece, cut))
    const headers = fc.oneof(damaged, value).filter(text => !meaning(text).includes(meaning(right)))
    await fc.assert(
      fc.asyncProperty(headers, async text => {
        const sent: Sent = { ...good, headers: { ...good.headers, [name]: text } }
        const verdict = await judge({ provider: vector.provider, secret: vector.secret, sent, now: NOW })
        return verdict.kind !== 'verified' || !differs(vector.provider, right, text)
      }),
      { numRuns: 40 },
    )
  }
})

/** Headers with several parts may have other parts added or taken away; what signs must still be there. */
const differs = (_provider: string, right: string, text: string): boolean => {
  const longest = right.split(/[=,\s]+/).toSorted((a, b) => b.length - a.length)[0] ?? ''
  return !text.toLowerCase().includes(longest.toLowerCase())
}
