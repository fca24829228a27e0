/** A queue per key, served round robin over the keys. */
export class RoundRobin<Item> {
  readonly #queues = new Map<string, Item[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  push(key: string, item: Item): void {
    const queue = this.#queues.get(key)
    if (queue === undefined) this.#queues.set(key, [item])
    else queue.push(item)
    this.#size++
  }

  shift(): Item | undefined {
    const [first] = this.#queues
    if (first === undefined) return undefined
    const [key, queue] = first
    const item = queue.shift()
    this.#size--
    this.#queues.delete(key)
    if (queue.length > 0) this.#queues.set(key, queue)
    return item
  }
}
