import { Holdings } from '#base/holdings.ts'

interface QueuedItem<Item> {
  readonly number: number
  readonly item: Item
  readonly endpoint: string
  readonly size: number
}

/** The numbers of one endpoint's events, oldest first, and their total size. */
interface Queue {
  numbers: number[]
  first: number
  size: number
}

/** A queue in the order of its numbers, from which the oldest of any endpoint can be removed. */
export class EndpointQueues<Item> {
  readonly #slack: number
  #kept: (QueuedItem<Item> | undefined)[] = []
  /** All numbers, including removed ones: ascending, for a binary search. */
  #numbers: number[] = []
  #first = 0
  readonly #queues = new Map<string, Queue>()
  readonly #counts = new Holdings<string>()
  #count = 0
  #size = 0

  /** Removed entries that may remain before a cleanup. */
  constructor(slack: number) {
    this.#slack = slack
  }

  get count(): number {
    return this.#count
  }

  get size(): number {
    return this.#size
  }

  /** Numbers must come in ascending order. */
  add(number: number, item: Item, { endpoint, size }: Pick<QueuedItem<Item>, 'endpoint' | 'size'>): void {
    this.#kept.push({ number, item, endpoint, size })
    this.#numbers.push(number)
    const queue = this.#queues.get(endpoint) ?? { numbers: [], first: 0, size: 0 }
    queue.numbers.push(number)
    queue.size += size
    this.#queues.set(endpoint, queue)
    this.#counts.add(endpoint)
    this.#count++
    this.#size += size
  }

  mostEvents(): string {
    return this.#counts.largest() ?? ''
  }

  mostBytes(): string {
    let [largest, most] = ['', -1]
    for (const [endpoint, { size }] of this.#queues) if (size > most) [largest, most] = [endpoint, size]
    return largest
  }

  dropOldest(endpoint: string): QueuedItem<Item> | undefined {
    const queue = this.#queues.get(endpoint)
    const number = queue?.numbers[queue.first]
    if (number === undefined) return undefined
    const dropped = this.#drop(this.#indexAfter(number - 1))
    this.#clean()
    return dropped
  }

  dropUpTo(number: number): void {
    const end = this.#indexAfter(number)
    for (let at = this.#first; at < end; at++) this.#drop(at)
    this.#first = Math.max(this.#first, end)
    this.#clean()
  }

  countAfter(number: number): number {
    let count = 0
    for (let at = this.#indexAfter(number); at < this.#kept.length; at++) if (this.#kept[at]) count++
    return count
  }

  after(number: number, most: number): QueuedItem<Item>[] {
    const found: QueuedItem<Item>[] = []
    for (let at = this.#indexAfter(number); at < this.#kept.length && found.length < most; at++) {
      const kept = this.#kept[at]
      if (kept !== undefined) found.push(kept)
    }
    return found
  }

  #drop(at: number): QueuedItem<Item> | undefined {
    const kept = this.#kept[at]
    if (kept === undefined) return undefined
    this.#kept[at] = undefined
    this.#count--
    this.#size -= kept.size
    this.#counts.remove(kept.endpoint)
    this.#dropFromQueue(kept)
    return kept
  }

  /** It is always the oldest of its endpoint. */
  #dropFromQueue({ endpoint, size }: QueuedItem<Item>): void {
    const queue = this.#queues.get(endpoint)
    if (queue === undefined) return
    queue.first++
    queue.size -= size
    if (queue.first === queue.numbers.length) this.#queues.delete(endpoint)
    else if (queue.first > this.#slack) {
      queue.numbers = queue.numbers.slice(queue.first)
      queue.first = 0
    }
  }

  /** The index of the first larger number. */
  #indexAfter(number: number): number {
    let [low, high] = [this.#first, this.#numbers.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#numbers[middle] ?? 0) <= number) low = middle + 1
      else high = middle
    }
    return low
  }

  #clean(): void {
    if (this.#count === 0) {
      this.#kept = []
      this.#numbers = []
    } else if (this.#kept.length - this.#count > this.#slack) {
      this.#kept = this.#kept.filter(kept => kept !== undefined)
      this.#numbers = this.#kept.map(kept => kept?.number ?? 0)
    } else return
    this.#first = 0
  }
}
