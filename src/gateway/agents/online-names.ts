import type { Directory, TunnelRecord } from '#registry/directory.ts'

/** The owner of the online tunnels at each name, in any scheme. */
export class OnlineNames {
  readonly #tunnels = new Map<string, Map<string, TunnelRecord>>()
  readonly #stop: () => void

  constructor(directory: Directory) {
    for (const tunnel of directory.tunnels.values()) this.#add(tunnel)
    this.#stop = directory.watch({
      added: tunnel => this.#add(tunnel),
      removed: tunnel => this.#remove(tunnel),
    })
  }

  close(): void {
    this.#stop()
  }

  /** The directory gives a name to one owner only. */
  owner(name: string): string | undefined {
    return this.#tunnels.get(name)?.values().next().value?.ownerId
  }

  #add(tunnel: TunnelRecord): void {
    const name = nameOf(tunnel)
    if (name === undefined) return
    const held = this.#tunnels.get(name) ?? new Map<string, TunnelRecord>()
    this.#tunnels.set(name, held.set(tunnel.id, tunnel))
  }

  #remove(tunnel: TunnelRecord): void {
    const name = nameOf(tunnel) ?? ''
    const held = this.#tunnels.get(name)
    held?.delete(tunnel.id)
    if (held?.size === 0) this.#tunnels.delete(name)
  }
}

const nameOf = ({ address }: TunnelRecord): string | undefined =>
  address === undefined || address.scheme === 'tcp' ? undefined : address.host
