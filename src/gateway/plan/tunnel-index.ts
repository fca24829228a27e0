import type { Directory, TunnelRecord } from '#gateway/directory.ts'
import { carries, labelText } from '#gateway/records/keys.ts'

type Labels = Readonly<Record<string, string>>
type Scheme = 'http' | 'https' | 'tls'

/** The tunnels that are online, by what leads visitors to them. */
export class TunnelIndex {
  readonly #plain = new Map<string, TunnelRecord>()
  readonly #secure = new Map<string, TunnelRecord>()
  readonly #ports = new Map<number, TunnelRecord>()
  readonly #labels = new Map<string, Map<string, TunnelRecord>>()
  readonly #stop: () => void
  #generation = 0

  constructor(directory: Directory) {
    for (const tunnel of directory.tunnels.values()) this.#add(tunnel)
    this.#stop = directory.watch({
      added: tunnel => this.#add(tunnel),
      removed: tunnel => this.#remove(tunnel),
    })
  }

  /** Grows whenever a labelled tunnel comes or goes. */
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

  /** Those that carry all of these labels, oldest first. Only the tunnels of the rarest label are looked at. */
  withLabels(labels: Labels): TunnelRecord[] {
    const sets = Object.entries(labels).map(([name, value]) => this.#labels.get(labelText(name, value)))
    const [rarest] = sets.toSorted((left, right) => (left?.size ?? 0) - (right?.size ?? 0))
    return [...(rarest?.values() ?? [])]
      .filter(tunnel => carries(tunnel.labels, labels))
      .toSorted((left, right) => (left.id < right.id ? -1 : 1))
  }

  #add(tunnel: TunnelRecord): void {
    const { address } = tunnel
    if (address === undefined) this.#addLabels(tunnel)
    else if (address.scheme === 'tcp') this.#ports.set(address.port, tunnel)
    else this.#names(address.scheme).set(address.host, tunnel)
  }

  #remove(tunnel: TunnelRecord): void {
    const { address, id } = tunnel
    if (address === undefined) this.#removeLabels(tunnel)
    else if (address.scheme === 'tcp') drop(this.#ports, address.port, id)
    else drop(this.#names(address.scheme), address.host, id)
  }

  #names(scheme: Scheme): Map<string, TunnelRecord> {
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

/** Another tunnel may have the place by now. */
function drop<Key>(tunnels: Map<Key, TunnelRecord>, key: Key, id: string): void {
  if (tunnels.get(key)?.id === id) tunnels.delete(key)
}
