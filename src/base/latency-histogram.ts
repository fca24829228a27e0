/** The bound of each bucket is this many times the one before: a quantile is within 4.8 % of the exact value. */
const GROWTH = 1.1
/** In milliseconds: the bound of the first bucket, which also has all that is shorter. */
const FIRST = 0.1
/** The last bucket begins at about one hour, and also has all that is longer. */
const BUCKETS = 184
const LOG_GROWTH = Math.log(GROWTH)

/** How often each duration occurred, in buckets that grow by a tenth. Histograms of several processes can be added. */
export class LatencyHistogram {
  readonly #counts = new Float64Array(BUCKETS)
  /** Buckets before the first one used and after the last one are empty. */
  #first = BUCKETS
  #last = -1
  #total = 0

  /** The inverse of `encode`. */
  static decode(text: string): LatencyHistogram {
    const histogram = new LatencyHistogram()
    histogram.mergeEncoded(text)
    return histogram
  }

  add(ms: number): void {
    const bucket = ms <= FIRST ? 0 : Math.ceil(Math.log(ms / FIRST) / LOG_GROWTH)
    this.#increase(Math.min(bucket, BUCKETS - 1), 1)
  }

  /** Adds a histogram in the form of `encode`; what cannot be read is ignored. */
  mergeEncoded(text: string): void {
    for (const pair of text.split(' ')) {
      const colon = pair.indexOf(':')
      const bucket = Number(pair.slice(0, colon))
      const count = Number(pair.slice(colon + 1))
      if (colon > 0 && bucket < BUCKETS && Number.isInteger(bucket) && count > 0)
        this.#increase(bucket, count)
    }
  }

  merge(other: LatencyHistogram): void {
    for (let bucket = other.#first; bucket <= other.#last; bucket++) {
      const count = other.#counts[bucket] ?? 0
      if (count > 0) this.#increase(bucket, count)
    }
  }

  /** Empties it, so that its memory can be used again. */
  clear(): void {
    this.#counts.fill(0, this.#first, this.#last + 1)
    this.#first = BUCKETS
    this.#last = -1
    this.#total = 0
  }

  /** The duration in milliseconds below which this share of all is; undefined without any. */
  quantile(share: number): number | undefined {
    const rank = Math.max(1, Math.ceil(share * this.#total))
    let seen = 0
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      seen += this.#counts[bucket] ?? 0
      if (seen >= rank) return middleOf(bucket)
    }
    return undefined
  }

  /** As text that is short when the durations are similar: `bucket:count` of those that are not empty. */
  encode(): string {
    let text = ''
    for (let bucket = this.#first; bucket <= this.#last; bucket++) {
      const count = this.#counts[bucket] ?? 0
      if (count > 0) text += `${text === '' ? '' : ' '}${bucket}:${count}`
    }
    return text
  }

  #increase(bucket: number, count: number): void {
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + count
    if (bucket < this.#first) this.#first = bucket
    if (bucket > this.#last) this.#last = bucket
    this.#total += count
  }
}

/** The value with the smallest relative distance from both bounds. */
const middleOf = (bucket: number): number => (FIRST * GROWTH ** bucket * 2) / (1 + GROWTH)
