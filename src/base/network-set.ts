import { addressFilter } from '#base/address-filter.ts'
import { rangeText, type Range } from '#base/addresses.ts'

/** The networks of a setting, which a reload may replace: compiled once for each value. */
export class NetworkSet {
  readonly #current: () => readonly Range[] | undefined
  #compiled: readonly Range[] | undefined
  #has: (ip: string) => boolean = () => false

  constructor(current: () => readonly Range[] | undefined) {
    this.#current = current
  }

  get isEmpty(): boolean {
    return (this.#current()?.length ?? 0) === 0
  }

  has(ip: string): boolean {
    const networks = this.#current()
    if (networks === undefined || networks.length === 0) return false
    if (networks !== this.#compiled) {
      this.#has = addressFilter(networks.map(range => ({ cidr: rangeText(range), action: 'allow' })))
      this.#compiled = networks
    }
    return this.#has(ip)
  }
}
