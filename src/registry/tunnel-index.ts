import type { Directory, TunnelRecord } from '#registry/directory.ts'
import { baseId } from '#registry/agent-connections.ts'
import { labelText } from '#registry/records/keys.ts'
import { joins, type TunnelGroup } from '#registry/records/tunnel-group.ts'

type Scheme = 'http' | 'https' | 'tls'

/** The online tunnels, by how clients reach them. */
export class TunnelIndex {
  readonly #plain: TunnelsByKey<string>
  readonly #secure: TunnelsByKey<string>
  readonly #ports: TunnelsByKey<number>
  readonly #labels = new Map<string, Map<string, TunnelRecord>>()
  readonly #node: string
  readonly #stop: () => void
  #generation = 0

  /** Of several connections of one agent the one to this process is nearest. */
  constructor(directory: Directory, node: string) {
    this.#node = node
    this.#plain = new TunnelsByKey(node)
    this.#secure = new TunnelsByKey(node)
    this.#ports = new TunnelsByKey(node)
    for (const tunnel of directory.tunnels.values()) this.#add(tunnel)
    this.#stop = directory.watch({
      added: tunnel => this.#add(tunnel),
      removed: tunnel => this.#remove(tunnel),
    })
  }

  /** Grows whenever a tunnel with labels or of a pool is added or removed. */
  get generation(): number {
    return this.#generation
  }

  close(): void {
    this.#stop()
  }

  named(scheme: Scheme, name: string): TunnelRecord | undefined {
    if (scheme === 'http') return this.#plain.get(name)
    const found = this.#secure.get(name)
    return found?.address?.scheme === scheme ? found : undefined
  }

  onPort(port: number): TunnelRecord | undefined {
    return this.#ports.get(port)
  }

  /** The tunnels that share the address of this one, including itself. */
  pool({ address }: TunnelRecord): TunnelRecord[] {
    if (address === undefined) return []
    return address.scheme === 'tcp'
      ? this.#ports.all(address.port)
      : this.#names(address.scheme).all(address.host)
  }

  /** The members of a group, oldest first. Only the tunnels of the rarest label are checked. */
  ofGroup(group: TunnelGroup): TunnelRecord[] {
    const { labels } = group
    const sets = Object.entries(labels).map(([name, value]) => this.#labels.get(labelText(name, value)))
    const [rarest] = sets.toSorted((left, right) => (left?.size ?? 0) - (right?.size ?? 0))
    const found = new Map<string, TunnelRecord>()
    // An agent with several connections counts once, preferably by the one to this process.
    for (const tunnel of rarest?.values() ?? []) {
      const key = baseId(tunnel.id)
      if (joins(tunnel, group) && (tunnel.node === this.#node || !found.has(key))) found.set(key, tunnel)
    }
    return [...found.values()].toSorted((left, right) => (left.id < right.id ? -1 : 1))
  }

  #add(tunnel: TunnelRecord): void {
    const { address, pooling } = tunnel
    if (pooling) this.#generation++
    if (address === undefined) this.#addLabels(tunnel)
    else if (address.scheme === 'tcp') this.#ports.add(address.port, tunnel)
    else this.#names(address.scheme).add(address.host, tunnel)
  }

  #remove(tunnel: TunnelRecord): void {
    const { address, id, pooling } = tunnel
    if (pooling) this.#generation++
    if (address === undefined) this.#removeLabels(tunnel)
    else if (address.scheme === 'tcp') this.#ports.remove(address.port, id)
    else this.#names(address.scheme).remove(address.host, id)
  }

  #names(scheme: Scheme): TunnelsByKey<string> {
    return scheme === 'http' ? this.#plain : this.#secure
  }

  #addLabels(tunnel: TunnelRecord): void {
    this.#generation++
    for (const [name, value] of Object.entries(tunnel.labels)) {
      const key = labelText(name, value)
      const tunnels = this.#labels.get(key) ?? new Map<string, TunnelRecord>()
      this.#labels.set(key, tunnels.set(tunnel.id, tunnel))
    }
  }

  #removeLabels({ id, labels }: TunnelRecord): void {
    this.#generation++
    for (const [name, value] of Object.entries(labels)) {
      const key = labelText(name, value)
      const tunnels = this.#labels.get(key)
      tunnels?.delete(id)
      if (tunnels?.size === 0) this.#labels.delete(key)
    }
  }
}

/** The tunnels by address. */
class TunnelsByKey<Key> {
  readonly #node: string
  readonly #holders = new Map<Key, readonly TunnelRecord[]>()

  constructor(node: string) {
    this.#node = node
  }

  /** The oldest of those that share an address, so that its compilation lasts. */
  get(key: Key): TunnelRecord | undefined {
    return this.#holders.get(key)?.[0]
  }

  /** All that share an address; an agent with several connections counts once. */
  all(key: Key): TunnelRecord[] {
    const holders = this.#holders.get(key) ?? []
    return holders.filter(({ id }, at) => baseId(id) !== baseId(holders[at - 1]?.id ?? ''))
  }

  add(key: Key, tunnel: TunnelRecord): void {
    const others = this.#without(key, tunnel.id)
    this.#holders.set(key, [...others, tunnel].toSorted(this.#inOrder))
  }

  /** Of several connections of one agent the one to this process comes first. */
  readonly #inOrder = (left: TunnelRecord, right: TunnelRecord): number => {
    const [a, b] = [baseId(left.id), baseId(right.id)]
    if (a !== b) return a < b ? -1 : 1
    return Number(right.node === this.#node) - Number(left.node === this.#node)
  }

  remove(key: Key, id: string): void {
    const rest = this.#without(key, id)
    if (rest.length === 0) this.#holders.delete(key)
    else this.#holders.set(key, rest)
  }

  #without(key: Key, id: string): readonly TunnelRecord[] {
    return (this.#holders.get(key) ?? []).filter(tunnel => tunnel.id !== id)
  }
}
