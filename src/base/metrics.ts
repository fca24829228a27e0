type MetricType = 'counter' | 'gauge' | 'histogram'

/** How the values of several processes are merged. */
export type Merge = 'sum' | 'max'

export interface Sample {
  /** The label values, in the order of the family's labels. */
  readonly labels: readonly string[]
  /** For a histogram the sum of all observations. */
  readonly value: number
  /** The bucket counts of a histogram, the last one without a bound; else empty. */
  readonly counts: readonly number[]
}

/** A metric with all its values. Plain data, so that it can be sent between processes. */
export interface FamilySnapshot {
  readonly name: string
  readonly help: string
  readonly type: MetricType
  readonly merge: Merge
  readonly labels: readonly string[]
  /** Upper bounds of a histogram's buckets. */
  readonly bounds: readonly number[]
  readonly samples: readonly Sample[]
}

export type Snapshot = readonly FamilySnapshot[]

type Reading = Pick<Sample, 'value' | 'counts'>

const NO_COUNTS: readonly number[] = []

/** Monotonic. */
export class Counter {
  #value = 0
  #source: (() => number) | undefined

  add(amount = 1): void {
    this.#value += amount
  }

  /** From now on the value is read from this function. */
  from(source: () => number): void {
    this.#source = source
  }

  read(): Reading {
    return { value: this.#source ? this.#source() : this.#value, counts: NO_COUNTS }
  }
}

export class Gauge {
  #value = 0
  #source: (() => number) | undefined

  set(value: number): void {
    this.#value = value
  }

  add(amount = 1): void {
    this.#value += amount
  }

  /** From now on the value is read from this function. */
  from(source: () => number): void {
    this.#source = source
  }

  read(): Reading {
    return { value: this.#source ? this.#source() : this.#value, counts: NO_COUNTS }
  }
}

export class Histogram {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #sum = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = Array<number>(bounds.length + 1).fill(0)
  }

  observe(value: number): void {
    const bounds = this.#bounds
    // There are few buckets and the small ones are hit most, so a linear search beats a binary one.
    let at = 0
    while (at < bounds.length && value > (bounds[at] ?? 0)) at++
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
    this.#sum += value
  }

  read(): Reading {
    return { value: this.#sum, counts: [...this.#counts] }
  }
}

/** One metric for each combination of label values. Look them up at set-up, not for every event. */
export class Family<M extends { read(): Reading }> {
  readonly #make: () => M
  readonly #size: number
  readonly #members = new Map<string, { readonly labels: readonly string[]; readonly metric: M }>()

  constructor(size: number, make: () => M) {
    this.#size = size
    this.#make = make
  }

  with(...labels: readonly string[]): M {
    if (labels.length !== this.#size) throw new TypeError(`This metric has ${this.#size} labels.`)
    const key = labels.join('\0')
    const found = this.#members.get(key)
    if (found) return found.metric
    const metric = this.#make()
    this.#members.set(key, { labels, metric })
    return metric
  }

  /** Its value is no longer exported. */
  remove(...labels: readonly string[]): void {
    this.#members.delete(labels.join('\0'))
  }

  samples(): Sample[] {
    return [...this.#members.values()].map(({ labels, metric }) => ({ labels, ...metric.read() }))
  }
}

interface MetricOptions {
  readonly labels?: readonly string[]
  readonly merge?: Merge
  readonly bounds?: readonly number[]
}

const NAME = /^[a-z_][a-z0-9_]*$/

/** All metrics of a process. Each is declared once. */
export class Registry {
  readonly #families = new Map<string, () => FamilySnapshot>()

  counter(name: string, help: string): Counter {
    return this.counters(name, help, []).with()
  }

  counters(name: string, help: string, labels: readonly string[]): Family<Counter> {
    return this.#declare('counter', name, help, { labels }, () => new Counter())
  }

  gauge(name: string, help: string, merge: Merge = 'sum'): Gauge {
    return this.gauges(name, help, [], merge).with()
  }

  gauges(name: string, help: string, labels: readonly string[], merge: Merge = 'sum'): Family<Gauge> {
    return this.#declare('gauge', name, help, { labels, merge }, () => new Gauge())
  }

  histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    return this.#declare('histogram', name, help, { bounds }, () => new Histogram(bounds)).with()
  }

  snapshot(): Snapshot {
    return [...this.#families.values()].map(read => read())
  }

  #declare<M extends { read(): Reading }>(
    type: MetricType,
    name: string,
    help: string,
    { labels = [], merge = 'sum', bounds = [] }: MetricOptions,
    make: () => M,
  ): Family<M> {
    if (this.#families.has(name)) throw new TypeError(`The metric ${name} already exists.`)
    for (const each of [name, ...labels])
      if (!NAME.test(each)) throw new TypeError(`"${each}" is not a metric name.`)
    const family = new Family(labels.length, make)
    this.#families.set(name, () => ({
      name,
      help,
      type,
      merge,
      labels,
      bounds,
      samples: family.samples(),
    }))
    return family
  }
}
