const WORDS =
  'account address amount archive balance carrier channel city client contract country credit customer date delivery discount east email entry garden harbour history invoice item journey label ledger market message north note number open order paid parcel partner pending phone place price product quantity rate receipt region return river season shipped south state station status stock street summary supplier ticket total track value village warehouse west window'.split(
    ' ',
  )

/** The same numbers in every run. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** Realistic API JSON: orders with ids, times, amounts and text, of a given size. */
export function orders(bytes: number): string {
  const next = numbers(7)
  const pick = (most: number): number => Math.floor(next() * most)
  const word = (): string => WORDS[pick(WORDS.length)] ?? ''
  const words = (most: number): string => Array.from({ length: 1 + pick(most) }, word).join(' ')
  const order = (id: number): object => ({
    id: `ord_${(id * 7919 + pick(1000)).toString(36)}${pick(2 ** 30).toString(36)}`,
    created_at: new Date(1.7e12 + id * 61_000 + pick(60_000)).toISOString(),
    customer: {
      name: `${word()} ${word()}`,
      email: `${word()}.${pick(1000)}@example.com`,
      verified: next() < 0.9,
    },
    address: {
      street: `${1 + pick(200)} ${word()} street`,
      city: word(),
      postcode: String(10_000 + pick(89_999)),
    },
    lines: Array.from({ length: 1 + pick(4) }, () => ({
      sku: pick(2 ** 24).toString(16),
      title: words(5),
      quantity: 1 + pick(9),
      price: pick(100_000) / 100,
    })),
    note: next() < 0.3 ? words(20) : null,
  })
  const parts: string[] = []
  for (let length = 0; length < bytes;) {
    const part = JSON.stringify(order(parts.length))
    parts.push(part)
    length += part.length + 1
  }
  return `[${parts.join(',')}]`.slice(0, bytes)
}
